import { useEffect, useState } from "react";
import { useEditConflict } from "../commands/conflicts";
import { Button } from "../ui/Button";
import styles from "./Cell.module.css";
import { useNotebookContext } from "./notebookContext";
import { StaticCode } from "./StaticCode";

/**
 * A warning that somebody else changed the cell while the user was editing it, with buttons that
 * choose which text to keep.
 */
export function ConflictBar({ cellId }: { cellId: string }) {
  const conflict = useEditConflict(cellId);
  const { drafts } = useNotebookContext();
  const [open, setOpen] = useState(false);
  const mine = conflict?.mine;
  useEffect(() => {
    if (mine !== undefined && !drafts.hasUnsavedText(cellId)) drafts.setLocally(cellId, mine);
  }, [drafts, cellId, mine]);
  if (conflict === null) return null;
  const take = () => {
    conflict.takeTheirs();
    drafts.setLocally(cellId, conflict.theirs);
  };
  return (
    <div className={styles.conflict} role="alert" data-keys="controls">
      <p>Somebody else changed this cell while you were editing it. Your text is kept here but not saved.</p>
      <Button onClick={() => setOpen(!open)} aria-expanded={open}>
        {open ? "Hide their text" : "Show their text"}
      </Button>
      <Button onClick={conflict.keepMine}>Keep mine</Button>
      <Button onClick={take}>Take theirs</Button>
      {open && (
        <div className={styles.theirs}>
          <StaticCode text={conflict.theirs} tokens={null} hit={null} />
        </div>
      )}
    </div>
  );
}
