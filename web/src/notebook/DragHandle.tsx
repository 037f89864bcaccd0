import GripVertical from "lucide-react/icons/grip-vertical";
import { type PointerEvent, useEffect, useRef } from "react";
import { useCommands } from "../commands/commands";
import { useDesk } from "./desk";
import { type Drag, startDrag } from "./drag";
import styles from "./Gutter.module.css";
import { useList } from "./list";
import { select } from "./select";

/** By it a cell is dragged to another place. The keyboard has keys and buttons for the same. */
export function DragHandle({ cellId }: { cellId: string }) {
  const desk = useDesk();
  const list = useList();
  const drag = useRef<Drag | null>(null);
  const writes = useCommands() !== null;
  useEffect(() => () => drag.current?.cancel(), []);
  if (!writes) return null;
  const end = (how: "drop" | "cancel") => {
    const current = drag.current;
    drag.current = null;
    current?.[how]();
  };
  const onPointerDown = (event: PointerEvent<HTMLSpanElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    select(desk, cellId, true); // the selected cell stays drawn however far it is dragged
    drag.current = startDrag(desk, list, cellId);
    const onKey = (key: KeyboardEvent) => key.key === "Escape" && end("cancel");
    window.addEventListener("keydown", onKey, { capture: true });
    event.currentTarget.addEventListener(
      "lostpointercapture",
      () => window.removeEventListener("keydown", onKey, true),
      {
        once: true,
      },
    );
  };
  return (
    <span
      className={styles.handle}
      aria-hidden
      title="Drag to move the cell"
      onPointerDown={onPointerDown}
      onPointerMove={(event) => drag.current?.to(event.clientY)}
      onPointerUp={() => end("drop")}
      onPointerCancel={() => end("cancel")}
    >
      <GripVertical size={14} />
    </span>
  );
}
