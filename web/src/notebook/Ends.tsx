import Plus from "lucide-react/icons/plus";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { Button } from "../ui/Button";
import { create } from "./change";
import { useDesk } from "./desk";
import styles from "./Notebook.module.css";

/** Behind the last cell: another one; in an empty notebook, what to do. */
export function Ends() {
  const desk = useDesk();
  const commands = useCommands();
  const count = useSelect((state) => state.notebook.order.length);
  if (commands === null) return count === 0 ? <p className={styles.empty}>There are no cells.</p> : null;
  const why = commands.addProblem ?? null;
  const reason = why === null ? {} : { disabled: true, title: why };
  return (
    <>
      {count === 0 && (
        <p className={styles.empty}>
          This notebook is empty. Add a cell and write in it, or give the agent something to do. Shift-Enter runs a
          cell.
        </p>
      )}
      <div className={styles.add}>
        <Button
          variant={count === 0 ? "accent" : "plain"}
          onClick={() => create(desk, count, "code", true)}
          {...reason}
        >
          <Plus size={14} aria-hidden /> Code
        </Button>
        <Button onClick={() => create(desk, count, "markdown", true)} {...reason}>
          <Plus size={14} aria-hidden /> Markdown
        </Button>
      </div>
    </>
  );
}
