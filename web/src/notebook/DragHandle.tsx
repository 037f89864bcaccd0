import GripVertical from "lucide-react/icons/grip-vertical";
import { type PointerEvent, useEffect, useRef } from "react";
import { useCommands } from "../commands/commands";
import { useCellDragArea } from "./cellDragArea";
import { type Drag, startCellDrag } from "./drag";
import styles from "./Gutter.module.css";
import { useNotebookContext } from "./notebookContext";
import { selectCell } from "./selection";

/**
 * A handle that drags a cell to another position. Keyboard users move cells with keys or the
 * toolbar instead.
 */
export function DragHandle({ cellId }: { cellId: string }) {
  const context = useNotebookContext();
  const list = useCellDragArea();
  const drag = useRef<Drag | null>(null);
  const canEdit = useCommands() !== null;
  useEffect(() => () => drag.current?.cancel(), []);
  if (!canEdit) return null;
  const end = (how: "drop" | "cancel") => {
    const current = drag.current;
    drag.current = null;
    current?.[how]();
  };
  const onPointerDown = (event: PointerEvent<HTMLSpanElement>) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    selectCell(context, cellId, true); // the selected cell stays drawn wherever the drag scrolls to
    drag.current = startCellDrag(context, list, cellId);
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
      onPointerMove={(event) => drag.current?.moveTo(event.clientY)}
      onPointerUp={() => end("drop")}
      onPointerCancel={() => end("cancel")}
    >
      <GripVertical size={14} />
    </span>
  );
}
