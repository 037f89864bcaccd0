import X from "lucide-react/icons/x";
import { useEffect } from "react";
import { Button, IconButton } from "../ui/Button";
import { restore } from "./change";
import { useDesk, useView } from "./desk";
import styles from "./Notebook.module.css";

/** So long a line stays that asks nothing of anybody; one that tells of a failure stays until it is closed. */
const noteMs = 8000;

/** A line about what has just happened. */
export function NoteLine() {
  const desk = useDesk();
  const note = useView((state) => state.note);
  useEffect(() => {
    if (note === null || note.tone === "bad") return;
    const timer = setTimeout(() => desk.view.set({ note: null }), noteMs);
    return () => clearTimeout(timer);
  }, [desk, note]);
  return (
    <div className={styles.notes} role="status">
      {note !== null && (
        <div className={`${styles.note} ${note.tone === "bad" ? styles.bad : ""}`}>
          <span>{note.text}</span>
          {note.removed !== undefined && <Button onClick={() => restore(desk, note.removed)}>Undo</Button>}
          <IconButton label="Close" onClick={() => desk.view.set({ note: null })}>
            <X />
          </IconButton>
        </div>
      )}
    </div>
  );
}
