import X from "lucide-react/icons/x";
import { useEffect } from "react";
import { Button, IconButton } from "../ui/Button";
import { restoreCell } from "./cellCommands";
import styles from "./Notebook.module.css";
import { useNotebookContext, useViewState } from "./notebookContext";

/** How many milliseconds a note is shown. A note about a failure stays until the user closes it. */
const noteTimeoutMs = 8000;

/** A line with a note about what has just happened, with an Undo button if a cell was deleted. */
export function NoteBar() {
  const context = useNotebookContext();
  const note = useViewState((state) => state.note);
  useEffect(() => {
    if (note === null || note.tone === "bad") return;
    const timer = setTimeout(() => context.view.set({ note: null }), noteTimeoutMs);
    return () => clearTimeout(timer);
  }, [context, note]);
  return (
    <div className={styles.notes} role="status">
      {note !== null && (
        <div className={`${styles.note} ${note.tone === "bad" ? styles.bad : ""}`}>
          <span>{note.text}</span>
          {note.deletedCell !== undefined && (
            <Button onClick={() => restoreCell(context, note.deletedCell)}>Undo</Button>
          )}
          <IconButton label="Close" onClick={() => context.view.set({ note: null })}>
            <X />
          </IconButton>
        </div>
      )}
    </div>
  );
}
