import { formatCost, formatCount, formatPercent } from "../format/format";
import { useSelect } from "../store/store";
import styles from "./UsageMeter.module.css";
import { promptTokens } from "./usage";

/** Shows the tokens and cost so far, and how full the model's context is. */
export function UsageMeter() {
  const usage = useSelect((state) => state.agent.usage);
  const context = useSelect((state) => state.agent.context ?? 0);
  if (usage === null) return null;
  const prompts = promptTokens(usage);
  const cached = usage.cache_read_input_tokens;
  const dollars = usage.cost_usd ?? null;
  const limit = usage.context_limit;
  return (
    <div className={styles.meter}>
      <dl className={styles.usage} aria-label="Usage">
        <UsageFigure name="in" title="Input tokens of all calls, cached or not" value={formatCount(prompts)} />
        {cached > 0 && prompts > 0 && (
          <UsageFigure
            name="cached"
            title="Share of input tokens read from the provider's cache"
            value={formatPercent(cached / prompts)}
          />
        )}
        <UsageFigure name="out" title="Output tokens of all calls" value={formatCount(usage.output_tokens)} />
        <UsageFigure
          name="cost"
          title={dollars === null ? "The price is unknown" : "Total cost so far"}
          value={formatCost(dollars)}
        />
      </dl>
      {limit > 0 && context > 0 && (
        <div className={styles.context} title={`${formatCount(context)} of ${formatCount(limit)} tokens of context`}>
          <span>context {formatPercent(context / limit)}</span>
          <meter aria-label="Context used" min={0} max={limit} high={limit * 0.8} value={Math.min(context, limit)} />
        </div>
      )}
    </div>
  );
}

function UsageFigure({ name, title, value }: { name: string; title: string; value: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
