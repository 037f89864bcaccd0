import { useEffect, useRef, useState } from "react";
import { useSelect } from "../store/store";
import { useView } from "./desk";
import { statusOf, statusWords } from "./status";

/** Tells a screen reader when the selected cell's run has ended. */
export function Announce() {
  const selected = useView((state) => state.selected);
  const status = useSelect((state) => (selected === null ? "fresh" : statusOf(state, selected)));
  const before = useRef({ selected, status });
  const [said, setSaid] = useState("");
  useEffect(() => {
    const known = before.current;
    before.current = { selected, status };
    if (known.selected !== selected) setSaid("");
    else if (known.status === "running" && status !== "running") setSaid(`The cell: ${statusWords[status]}.`);
    else if (status === "running") setSaid("");
  }, [selected, status]);
  return (
    <p className="visually-hidden" aria-live="polite">
      {said}
    </p>
  );
}
