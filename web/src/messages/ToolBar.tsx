import ChartNoAxesColumn from "lucide-react/icons/chart-no-axes-column";
import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronUp from "lucide-react/icons/chevron-up";
import { formatCountOf } from "../format/format";
import { Button, IconButton } from "../ui/Button";
import { hasFilter } from "./filters";
import type { FlowView } from "./flowModel";
import { GoToField } from "./GoToField";
import styles from "./ToolBar.module.css";
import type { TracePosition } from "./tracePosition";
import type { LiveTraceState } from "./useLiveTrace";

interface Props {
  view: FlowView;
  live: LiveTraceState;
  /** Progress or failure of a search; "" for none. */
  searchStatus: string;
  /** Shows or hides stream frames. */
  onStreams: (shown: boolean) => void;
  onGo: (place: TracePosition) => void;
  onNextOdd: (step: 1 | -1) => void;
  statistics: boolean;
  onStatistics: () => void;
}

/** The number of messages, the connection state, and controls for searching and statistics. */
export function ToolBar({ view, live, searchStatus, onStreams, onGo, onNextOdd, statistics, onStatistics }: Props) {
  return (
    <div className={styles.bar}>
      <span className={styles.count}>{messageCountText(view)}</span>
      <label
        className={styles.streams}
        title="Pieces of the model's replies as they arrive. Each complete reply follows."
      >
        <input type="checkbox" checked={view.filters.streams} onChange={(event) => onStreams(event.target.checked)} />
        {hiddenStreamPiecesText(view)}
      </label>
      {live.state === "following" && <span className={styles.live}>live</span>}
      {live.state === "lost" && (
        <span className={styles.lost} role="status">
          {live.why}
        </span>
      )}
      {live.state === "ended" && live.checkAgain !== null && (
        <span className={styles.said} role="status">
          {"The trace has ended. "}
          <Button variant="quiet" onClick={live.checkAgain}>
            Check again
          </Button>
        </span>
      )}
      <span className={styles.said} role="status">
        {searchStatus}
      </span>
      <span className={styles.end}>
        <GoToField onGo={onGo} />
        <IconButton
          label="Previous problem: late, dropped, timed out and so on (Shift+N)"
          onClick={() => onNextOdd(-1)}
        >
          <ChevronUp />
        </IconButton>
        <IconButton label="Next problem: late, dropped, timed out and so on (N)" onClick={() => onNextOdd(1)}>
          <ChevronDown />
        </IconButton>
        <IconButton label="Statistics" aria-expanded={statistics} onClick={onStatistics}>
          <ChartNoAxesColumn />
        </IconButton>
      </span>
    </div>
  );
}

function messageCountText({ count, end, hidden, filters }: FlowView): string {
  if (count === null) return "…";
  const all = formatCountOf(end, "message");
  const some = hasFilter(filters) || (hidden !== null && hidden > 0);
  return some ? `${count.toLocaleString("en")} of ${all}` : all;
}

function hiddenStreamPiecesText({ hidden }: FlowView): string {
  return hidden === null || hidden === 0 ? "stream pieces" : `stream pieces: ${hidden.toLocaleString("en")} hidden`;
}
