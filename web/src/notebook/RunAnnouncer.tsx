import { useEffect, useRef, useState } from "react";
import { useSelect } from "../store/store";
import { useViewState } from "./notebookContext";
import { statusOfCell, statusTexts } from "./status";

/** Announces the result of the selected cell's run to screen readers when it ends. */
export function RunAnnouncer() {
  const selected = useViewState((state) => state.selected);
  const status = useSelect((state) => (selected === null ? "fresh" : statusOfCell(state, selected)));
  const before = useRef({ selected, status });
  const [said, setSaid] = useState("");
  useEffect(() => {
    const known = before.current;
    before.current = { selected, status };
    if (known.selected !== selected) setSaid("");
    else if (known.status === "running" && status !== "running") setSaid(`The cell: ${statusTexts[status]}.`);
    else if (status === "running") setSaid("");
  }, [selected, status]);
  return (
    <p className="visually-hidden" aria-live="polite">
      {said}
    </p>
  );
}
