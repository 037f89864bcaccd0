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
import { changeType, insert, moveBy, remove } from "./change";
import { useDesk } from "./desk";
import { interruptCell, run, whyNotRun } from "./run";
import { statusOf } from "./status";
import styles from "./Toolbar.module.css";

interface Props {
  cellId: string;
  code: boolean;
  /** Another cell is pointed at: this one's controls show only while the keyboard is in them. */
  aside: boolean;
}

/** What can be done with the cell. It is drawn for the cell that is selected or pointed at. */
export function Toolbar({ cellId, code, aside }: Props) {
  const desk = useDesk();
  const commands = useCommands();
  const status = useSelect((state) => statusOf(state, cellId));
  const first = useSelect(({ notebook }) => notebook.order[0] === cellId);
  const last = useSelect(({ notebook }) => notebook.order.at(-1) === cellId);
  if (commands === null) return null;
  const why = whyNotRun(commands);
  const reason = why === null ? {} : { disabled: true, title: why };
  const addProblem = commands.addProblem ?? null;
  const noMore = addProblem === null ? {} : { disabled: true, title: addProblem };
  const busy = status === "running" || status === "waiting";
  return (
    <div
      className={`${styles.toolbar} ${aside ? styles.aside : ""}`}
      role="toolbar"
      aria-label="Cell"
      data-keys="controls"
    >
      {code && !busy && (
        <IconButton label="Run the cell" onClick={() => run(desk, cellId)} {...reason}>
          <Play />
        </IconButton>
      )}
      {code && busy && (
        <IconButton label="Stop the cell" onClick={() => interruptCell(desk, cellId)} {...reason}>
          <Square />
        </IconButton>
      )}
      <IconButton label="Insert a cell above" onClick={() => insert(desk, 0, cellId, true)} {...noMore}>
        <BetweenHorizontalEnd />
      </IconButton>
      <IconButton label="Insert a cell below" onClick={() => insert(desk, 1, cellId, true)} {...noMore}>
        <BetweenHorizontalStart />
      </IconButton>
      <IconButton label="Move the cell up" disabled={first} onClick={() => moveBy(desk, -1, cellId)}>
        <ArrowUp />
      </IconButton>
      <IconButton label="Move the cell down" disabled={last} onClick={() => moveBy(desk, 1, cellId)}>
        <ArrowDown />
      </IconButton>
      {code ? (
        <IconButton label="Make it a Markdown cell" onClick={() => changeType(desk, "markdown", cellId)}>
          <Type />
        </IconButton>
      ) : (
        <IconButton label="Make it a code cell" onClick={() => changeType(desk, "code", cellId)}>
          <Code />
        </IconButton>
      )}
      <IconButton label="Delete the cell" onClick={() => remove(desk, cellId)}>
        <Trash2 />
      </IconButton>
    </div>
  );
}
