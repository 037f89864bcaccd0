import type { ModelCall } from "../protocol/api.gen";
import { plainName } from "../text/displayText";
import styles from "./EntryPanel.module.css";
import type { FlowRequest } from "./entry";
import { delayText, shortNameText } from "./entryTexts";
import { OddityMark } from "./OddityMark";
import { oddityOfRequest } from "./oddity";

interface Props {
  request: FlowRequest;
  /** Number of the selected entry. */
  selectedSeq: number;
  complete: boolean;
  onSeq: (seq: number) => void;
}

const requestStepNames = ["asked", "sent", "replied", "answered", "late reply"];
const runStepNames = ["asked", "queued", "began", "ended", "late"];
const modelStepNames = ["called", "waited until", "", "replied", ""];

/** Shows a request: links to its entries in the trace, and how its time is divided between the hops. */
export function RequestPath({ request, selectedSeq, complete, onSeq }: Props) {
  const names = request.call !== null ? modelStepNames : request.kind === "run" ? runStepNames : requestStepNames;
  const fault = oddityOfRequest(request, complete);
  const way = request.seqs.flatMap((seq, i) => (seq > 0 ? [{ seq, name: names[i] ?? "" }] : []));
  const seen = way.filter(({ seq }, i) => way.findIndex((one) => one.seq === seq) === i);
  return (
    <div className={styles.request}>
      <p className={styles.of}>
        {`${shortNameText(request.kind) || "request"} `}
        <b>{shortNameText(request.action)}</b>
        {fault !== null && <OddityMark oddity={fault} />}
      </p>
      <p className={styles.delay}>{plainName(request.text, 400)}</p>
      {request.call !== null && <p className={styles.delay}>{modelCallText(request.call)}</p>}
      <HopTimesBar request={request} />
      <ol className={styles.way}>
        {seen.map(({ seq, name }) => (
          <li key={seq}>
            {name}
            <button
              type="button"
              className={styles.pick}
              aria-current={seq === selectedSeq ? "true" : undefined}
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

/** Returns which API and model a call is for, and how long the agent had waited to repeat it. */
function modelCallText({ call, api, model, retry_wait_ms: retryWaitMs }: ModelCall): string {
  const repeated = retryWaitMs === undefined ? "" : `, ${delayText(retryWaitMs)} after a refusal`;
  return `call ${call} of ${shortNameText(model)}, API ${shortNameText(api)}${repeated}`;
}

/** A bar divided in proportion to the time of each hop. */
function HopTimesBar({ request: { hops } }: { request: FlowRequest }) {
  const all = hops.reduce((sum, { ms }) => sum + Math.max(0, ms), 0);
  if (all === 0) return null;
  return (
    <div className={styles.shares} aria-hidden="true">
      {hops.map(({ hop, ms }, i) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: a hop may occur twice, and the order is fixed
          key={i}
          className={styles[hop === "run" ? "kernel" : hop] ?? ""}
          title={shortNameText(hop)}
          style={{ flexGrow: Math.max(0, ms) / all }}
        />
      ))}
    </div>
  );
}
