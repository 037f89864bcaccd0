import { useMemo } from "react";
import { Problem } from "../../api/Problem";
import { attemptCountsOf, passRatesOf, summaryRates } from "../data/tally";
import { type RunWithAttempts, useRun } from "../data/useRun";
import { ForeignName } from "../parts/ForeignName";
import { MutedText } from "../parts/MutedText";
import { OutcomeBar } from "../parts/OutcomeBar";
import { UnreadableLinesNotice } from "../parts/UnreadableLinesNotice";
import { Attempts } from "./Attempts";
import { Configuration } from "./Configuration";
import { PassRates } from "./PassRates";
import { RunFacts } from "./RunFacts";
import styles from "./RunView.module.css";

/** Everything about a run: its facts, pass rates, attempts and configuration. */
export function RunView({ name }: { name: string }) {
  const whole = useRun(name);
  const { run, error, reload } = whole;
  return (
    <>
      <h1 className={styles.title}>
        <ForeignName text={name} />
      </h1>
      {error && <Problem what="The run could not be loaded" error={error} onRetry={reload} />}
      {run === null && error === null && <MutedText>Loading…</MutedText>}
      {run !== null && <LoadedRun name={name} whole={whole} />}
    </>
  );
}

function LoadedRun({ name, whole }: { name: string; whole: RunWithAttempts }) {
  const { run, attempts, lines } = whole;
  const counts = useMemo(() => attemptCountsOf(attempts), [attempts]);
  const rates = useMemo(() => summaryRates(lines, passRatesOf(attempts)), [lines, attempts]);
  if (run === null) return null;
  return (
    <>
      <UnreadableLinesNotice leftOut={run.leftOut} />
      <RunFacts run={run} attempts={attempts} />
      <OutcomeBar counts={counts} />
      <PassRates rates={rates} counts={counts} />
      <Attempts run={name} attempts={attempts} going={run.state === "running"} />
      <Configuration config={run.config.all} host={run.host} />
    </>
  );
}
