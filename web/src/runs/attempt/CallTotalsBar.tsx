import { formatCount, formatDuration } from "../../format/format";
import type { TraceStatistics } from "../../protocol/api.gen";
import type { TimedCall } from "./modelCalls";
import { costText, failureTexts, tokensText } from "./TurnCost";
import styles from "./TurnCost.module.css";

interface Props {
  statistics: TraceStatistics;
  calls: readonly TimedCall[];
}

/** What all calls of an attempt's models have used, and for what the agent waited; nothing without calls. */
export function CallTotalsBar({ statistics: { models, time }, calls }: Props) {
  if (models === undefined) return null;
  const { input_tokens, cache_read_input_tokens: cached, cache_creation_input_tokens, output_tokens } = models.usage;
  const input = input_tokens + cached + cache_creation_input_tokens;
  const facts = [
    ["Calls of models", [formatCount(models.calls), ...failureTexts(calls)].join(", ")],
    ["Tokens", tokensText({ input, cached, output: output_tokens })],
    ["Cost", costText(models.cost_usd)],
    ...(time === undefined
      ? []
      : [
          ["Model time", formatDuration(time.model_ms + time.both_ms)],
          ["Kernel time", formatDuration(time.kernel_ms + time.both_ms)],
        ]),
  ];
  return (
    <dl className={styles.totals} aria-label="All calls of models">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
