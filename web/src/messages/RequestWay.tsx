import { plainName } from "../text/displayText";
import styles from "./EntryPanel.module.css";
import type { FlowRequest } from "./entry";
import { Mark } from "./Mark";
import { faultOf } from "./oddity";
import { nameText } from "./words";

interface Props {
  request: FlowRequest;
  /** The entry that is selected. */
  here: number;
  complete: boolean;
  onSeq: (seq: number) => void;
}

const stations = ["asked", "sent", "replied", "answered", "late reply"];
const stationsOfRun = ["asked", "queued", "began", "ended", "late"];

/** A request: where it is in the trace, and how its time is shared between the hops. */
export function RequestWay({ request, here, complete, onSeq }: Props) {
  const names = request.kind === "run" ? stationsOfRun : stations;
  const fault = faultOf(request, complete);
  const way = request.seqs.flatMap((seq, i) => (seq > 0 ? [{ seq, name: names[i] ?? "" }] : []));
  const seen = way.filter(({ seq }, i) => way.findIndex((one) => one.seq === seq) === i);
  return (
    <div className={styles.request}>
      <p className={styles.of}>
        {`${nameText(request.kind) || "request"} `}
        <b>{nameText(request.action)}</b>
        {fault !== null && <Mark oddity={fault} />}
      </p>
      <p className={styles.delay}>{plainName(request.text, 400)}</p>
      <Shares request={request} />
      <ol className={styles.way}>
        {seen.map(({ seq, name }) => (
          <li key={seq}>
            {name}
            <button
              type="button"
              className={styles.pick}
              aria-current={seq === here ? "true" : undefined}
              aria-label={`${name}: entry ${seq}`}
              onClick={() => onSeq(seq)}
            >
              {seq}
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A bar as long as the request, in the parts that the hops took. The text above says the same. */
function Shares({ request: { hops } }: { request: FlowRequest }) {
  const all = hops.reduce((sum, { ms }) => sum + Math.max(0, ms), 0);
  if (all === 0) return null;
  return (
    <div className={styles.shares} aria-hidden="true">
      {hops.map(({ hop, ms }, i) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: a hop may stand there twice, and its place is what it is
          key={i}
          className={styles[hop === "run" ? "kernel" : hop] ?? ""}
          title={nameText(hop)}
          style={{ flexGrow: Math.max(0, ms) / all }}
        />
      ))}
    </div>
  );
}
