import Plus from "lucide-react/icons/plus";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import { createCell } from "./cellCommands";
import styles from "./Notebook.module.css";
import { useNotebookContext } from "./notebookContext";

/** The area after the last cell: buttons that append a cell, and a hint if the notebook is empty. */
export function NotebookEnd() {
  const context = useNotebookContext();
  const commands = useCommands();
  const count = useSelect((state) => state.notebook.order.length);
  if (commands === null) return count === 0 ? <p className={styles.empty}>No cells.</p> : null;
  const why = commands.addProblem ?? null;
  const reason = why === null ? {} : { disabled: true, title: why };
  return (
    <>
      {count === 0 && <p className={styles.empty}>This notebook is empty. Add a cell: Shift-Enter runs it.</p>}
      <div className={styles.add}>
        <Button
          variant={count === 0 ? "accent" : "plain"}
          onClick={() => createCell(context, count, "code", true)}
          {...reason}
        >
          <Plus size={14} aria-hidden /> Code
        </Button>
        <Button onClick={() => createCell(context, count, "markdown", true)} {...reason}>
          <Plus size={14} aria-hidden /> Markdown
        </Button>
      </div>
    </>
  );
}
