import ArrowDown from "lucide-react/icons/arrow-down";
import ArrowUp from "lucide-react/icons/arrow-up";
import BetweenHorizontalEnd from "lucide-react/icons/between-horizontal-end";
import BetweenHorizontalStart from "lucide-react/icons/between-horizontal-start";
import Code from "lucide-react/icons/code";
import Play from "lucide-react/icons/play";
import Square from "lucide-react/icons/square";
import Trash2 from "lucide-react/icons/trash";
import Type from "lucide-react/icons/type";
import { useCommands } from "../commands/commands";
import { useSelect } from "../store/store";
import { IconButton } from "../ui/Button";
import { changeCellType, deleteCell, insertCell, moveCellBy } from "./cellCommands";
import { useNotebookContext } from "./notebookContext";
import { interruptCell, runCell, whyCannotRunCells } from "./runCommands";
import { statusOfCell } from "./status";
import styles from "./Toolbar.module.css";

interface Props {
  cellId: string;
  isCode: boolean;
  /** The pointer is on another cell: this toolbar then shows only while it has the focus. */
  isOtherHovered: boolean;
}

/** The buttons of a cell. It is drawn for the selected cell and the one under the pointer. */
export function Toolbar({ cellId, isCode, isOtherHovered }: Props) {
  const context = useNotebookContext();
  const commands = useCommands();
  const status = useSelect((state) => statusOfCell(state, cellId));
  const first = useSelect(({ notebook }) => notebook.order[0] === cellId);
  const last = useSelect(({ notebook }) => notebook.order.at(-1) === cellId);
  if (commands === null) return null;
  const why = whyCannotRunCells(commands);
  const reason = why === null ? {} : { disabled: true, title: why };
  const addProblem = commands.addProblem ?? null;
  const addReason = addProblem === null ? {} : { disabled: true, title: addProblem };
  const busy = status === "running" || status === "waiting";
  return (
    <div
      className={`${styles.toolbar} ${isOtherHovered ? styles.aside : ""}`}
      role="toolbar"
      aria-label="Cell"
      data-keys="controls"
    >
      {isCode && !busy && (
        <IconButton label="Run the cell" onClick={() => runCell(context, cellId)} {...reason}>
          <Play />
        </IconButton>
      )}
      {isCode && busy && (
        <IconButton label="Stop the cell" onClick={() => interruptCell(context, cellId)} {...reason}>
          <Square />
        </IconButton>
      )}
      <IconButton label="Insert a cell above" onClick={() => insertCell(context, 0, cellId, true)} {...addReason}>
        <BetweenHorizontalEnd />
      </IconButton>
      <IconButton label="Insert a cell below" onClick={() => insertCell(context, 1, cellId, true)} {...addReason}>
        <BetweenHorizontalStart />
      </IconButton>
      <IconButton label="Move the cell up" disabled={first} onClick={() => moveCellBy(context, -1, cellId)}>
        <ArrowUp />
      </IconButton>
      <IconButton label="Move the cell down" disabled={last} onClick={() => moveCellBy(context, 1, cellId)}>
        <ArrowDown />
      </IconButton>
      {isCode ? (
        <IconButton label="Make it a Markdown cell" onClick={() => changeCellType(context, "markdown", cellId)}>
          <Type />
        </IconButton>
      ) : (
        <IconButton label="Make it a code cell" onClick={() => changeCellType(context, "code", cellId)}>
          <Code />
        </IconButton>
      )}
      <IconButton label="Delete the cell" onClick={() => deleteCell(context, cellId)}>
        <Trash2 />
      </IconButton>
    </div>
  );
}
