import { formatCost, formatCount, formatDuration } from "../../format/format";
import { plainName } from "../../text/displayText";
import { type CallTotals, noCallTotals, type TimedCall, type Turn, withCalls } from "./modelCalls";
import styles from "./TurnCost.module.css";

/** What the calls that led to a message of the agent have used, how long they took, and the sum so far. */
export function TurnCost({ turn: { calls, soFar }, showModel }: { turn: Turn; showModel: boolean }) {
  const models = [...new Set(calls.map(({ model }) => plainName(model, 60)))].join(", ");
  return (
    <p className={styles.turn} title={models}>
      <span>{[...(showModel ? [models] : []), ...turnFacts(calls)].join(" · ")}</span>
      {soFar.answered > 0 && (
        <span
          className={styles.soFar}
        >{`so far ${formatCount(soFar.input + soFar.output)} tokens, cost ${costText(soFar.costUsd)}`}</span>
      )}
    </p>
  );
}

function turnFacts(calls: readonly TimedCall[]): string[] {
  const totals = withCalls(noCallTotals, calls);
  const ended = calls.filter(({ totalMs }) => totalMs !== null);
  const sum = (ms: (call: TimedCall) => number) => ended.reduce((all, call) => all + ms(call), 0);
  const waitMs = sum(({ waitMs }) => waitMs);
  return [
    ...(calls.length > 1 ? [`${calls.length} calls`] : []),
    ...failureTexts(calls),
    ...(totals.answered > 0 ? [`tokens ${tokensText(totals)}`, `cost ${costText(totals.costUsd)}`] : []),
    ...(ended.length > 0 ? [formatDuration(sum(({ totalMs }) => totalMs ?? 0))] : []),
    ...(waitMs > 0 ? [`of which ${formatDuration(waitMs)} for other calls`] : []),
    ...(ended.length < calls.length ? ["no reply yet"] : []),
  ];
}

/** Returns how many of the calls have ended in each way other than a complete reply. */
export function failureTexts(calls: readonly TimedCall[]): string[] {
  const outcomes = calls.flatMap(({ outcome = "ok" }) => (outcome === "ok" ? [] : [plainName(outcome, 20)]));
  return [...new Set(outcomes)].map((outcome) => `${outcomes.filter((one) => one === outcome).length} ${outcome}`);
}

/** Returns the tokens of some calls: "900 in (512 cached), 40 out". */
export function tokensText({ input, cached, output }: Omit<CallTotals, "answered" | "costUsd">): string {
  return `${formatCount(input)} in${cached > 0 ? ` (${formatCount(cached)} cached)` : ""}, ${formatCount(output)} out`;
}

/** Returns a cost; an unknown one is never 0. */
export function costText(usd: number | null): string {
  return usd === null ? "unknown" : formatCost(usd);
}
