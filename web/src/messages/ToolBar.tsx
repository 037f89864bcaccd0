import ChartNoAxesColumn from "lucide-react/icons/chart-no-axes-column";
import ChevronDown from "lucide-react/icons/chevron-down";
import ChevronUp from "lucide-react/icons/chevron-up";
import { formatCountOf } from "../format/format";
import { Button, IconButton } from "../ui/Button";
import { isPicked } from "./filters";
import { GoTo } from "./GoTo";
import type { FlowView } from "./model";
import type { Place } from "./place";
import styles from "./ToolBar.module.css";
import type { Live } from "./useLive";

interface Props {
  view: FlowView;
  live: Live;
  /** What is being looked for, or was not found; "" is nothing. */
  said: string;
  /** Shows the pieces of replies, or leaves them out. */
  onStreams: (shown: boolean) => void;
  onGo: (place: Place) => void;
  onOdd: (step: 1 | -1) => void;
  statistics: boolean;
  onStatistics: () => void;
}

/** How much there is, how it goes on, and the ways through it. */
export function ToolBar({ view, live, said, onStreams, onGo, onOdd, statistics, onStatistics }: Props) {
  return (
    <div className={styles.bar}>
      <span className={styles.count}>{countText(view)}</span>
      <label
        className={styles.streams}
        title="The pieces in which replies of the model arrive. Each reply follows whole."
      >
        <input type="checkbox" checked={view.filters.streams} onChange={(event) => onStreams(event.target.checked)} />
        {streamsText(view)}
      </label>
      {live.state === "following" && <span className={styles.live}>live</span>}
      {live.state === "lost" && (
        <span className={styles.lost} role="status">
          {live.why}
        </span>
      )}
      {live.state === "ended" && live.again !== null && (
        <span className={styles.said} role="status">
          {"The trace has ended. "}
          <Button variant="quiet" onClick={live.again}>
            Look again
          </Button>
        </span>
      )}
      <span className={styles.said} role="status">
        {said}
      </span>
      <span className={styles.end}>
        <GoTo onGo={onGo} />
        <IconButton label="Previous odd one: late, dropped, timed out and so on (Shift+N)" onClick={() => onOdd(-1)}>
          <ChevronUp />
        </IconButton>
        <IconButton label="Next odd one: late, dropped, timed out and so on (N)" onClick={() => onOdd(1)}>
          <ChevronDown />
        </IconButton>
        <IconButton label="Statistics" aria-expanded={statistics} onClick={onStatistics}>
          <ChartNoAxesColumn />
        </IconButton>
      </span>
    </div>
  );
}

function countText({ count, end, hidden, filters }: FlowView): string {
  if (count === null) return "…";
  const all = formatCountOf(end, "message");
  const some = isPicked(filters) || (hidden !== null && hidden > 0);
  return some ? `${count.toLocaleString("en")} of ${all}` : all;
}

function streamsText({ hidden }: FlowView): string {
  return hidden === null || hidden === 0 ? "stream pieces" : `stream pieces: ${hidden.toLocaleString("en")} hidden`;
}
