import CircleCheck from "lucide-react/icons/circle-check";
import CircleAlert from "lucide-react/icons/circle-exclamation-point";
import CircleStop from "lucide-react/icons/circle-stop";
import Clock from "lucide-react/icons/clock";
import LoaderCircle from "lucide-react/icons/loader-circle";
import { useSelect } from "../store/store";
import { DragHandle } from "./DragHandle";
import styles from "./Gutter.module.css";
import { RunTime } from "./RunTime";
import { type CellStatus, executionPrompt, statusOfCell, statusTexts } from "./status";

/**
 * The area to the left of a cell: the drag handle and, for a code cell, its run number, status and
 * duration.
 */
export function Gutter({ cellId, code }: { cellId: string; code: boolean }) {
  return (
    <div className={styles.gutter}>
      {code && <ExecutionPrompt cellId={cellId} />}
      <DragHandle cellId={cellId} />
    </div>
  );
}

function ExecutionPrompt({ cellId }: { cellId: string }) {
  const prompt = useSelect((state) => executionPrompt(state, cellId));
  const status = useSelect((state) => statusOfCell(state, cellId));
  return (
    <>
      <span className={styles.prompt} aria-hidden>
        [{prompt}]
      </span>
      <span className={styles.status}>
        <StatusIcon status={status} />
        <span className={styles.time}>
          <RunTime cellId={cellId} />
        </span>
      </span>
    </>
  );
}

function StatusIcon({ status }: { status: CellStatus }) {
  const words = statusTexts[status];
  const Icon = statusIcons[status];
  return (
    <span className={styles[status]} title={words}>
      {Icon !== null && <Icon size={14} aria-hidden />}
      <span className="visually-hidden">{words}</span>
    </span>
  );
}

const statusIcons = {
  fresh: null,
  waiting: Clock,
  running: LoaderCircle,
  ran: CircleCheck,
  failed: CircleAlert,
  interrupted: CircleStop,
};
