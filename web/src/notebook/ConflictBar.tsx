import { useEffect, useState } from "react";
import { useConflict } from "../commands/conflicts";
import { Button } from "../ui/Button";
import styles from "./Cell.module.css";
import { useDesk } from "./desk";
import { StaticCode } from "./StaticCode";

/** Somebody else has changed the cell that a person writes in: which text shall stand. */
export function ConflictBar({ cellId }: { cellId: string }) {
  const conflict = useConflict(cellId);
  const { drafts } = useDesk();
  const [open, setOpen] = useState(false);
  const mine = conflict?.mine;
  useEffect(() => {
    if (mine !== undefined && !drafts.unsaved(cellId)) drafts.put(cellId, mine);
  }, [drafts, cellId, mine]);
  if (conflict === null) return null;
  const take = () => {
    conflict.takeTheirs();
    drafts.put(cellId, conflict.theirs);
  };
  return (
    <div className={styles.conflict} role="alert" data-keys="controls">
      <p>This cell was changed by somebody else while you wrote in it. Your text is kept, but not stored.</p>
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
