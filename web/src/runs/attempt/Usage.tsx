import { formatCount } from "../../format/format";
import type { AttemptLine, RunUsage } from "../../protocol/api.gen";
import { attemptCostText } from "../data/attempt";
import styles from "./Overview.module.css";

/** The tokens, cost and calls of an attempt, and its tamper signals and interventions. */
export function Usage({ line }: { line: AttemptLine }) {
  const n = (name: Exclude<keyof RunUsage, "reported">) => line.usage?.[name] ?? null;
  const facts: [string, string][] = [
    ["Tokens in", formatCount(n("input_tokens"))],
    ["Of these from the cache", formatCount(n("cache_read_input_tokens"))],
    ["Written to the cache", formatCount(n("cache_creation_input_tokens"))],
    ["Tokens out", formatCount(n("output_tokens"))],
    ["Cost", attemptCostText(line.usage ?? {})],
    ["Model calls", formatCount(n("model_calls"))],
    ["Retries", formatCount(n("retries"))],
    ["Actions", formatCount(n("actions"))],
    ["Cells run", formatCount(n("cells_run"))],
  ];
  if (line.usage?.cached_calls)
    facts.splice(6, 0, ["Of these from the cache of replies", formatCount(n("cached_calls"))]);
  const reported = line.usage?.reported;
  if (
    reported &&
    (reported.input_tokens !== line.usage?.input_tokens || reported.output_tokens !== line.usage?.output_tokens)
  )
    facts.push(
      ["Tokens in, as the agent reports", formatCount(reported.input_tokens ?? null)],
      ["Tokens out, as the agent reports", formatCount(reported.output_tokens ?? null)],
    );
  return (
    <section aria-labelledby="usage">
      <h2 id="usage">Usage</h2>
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <UnexpectedCount name="Tamper signals" n={line.tamper ?? 0} />
        <UnexpectedCount name="Interventions" n={line.interventions ?? 0} />
      </dl>
    </section>
  );
}

/** A count that should be 0; it is highlighted if it is not. */
function UnexpectedCount({ name, n }: { name: string; n: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={n > 0 ? styles.warn : ""}>{n > 0 ? formatCount(n) : "none"}</dd>
    </div>
  );
}
