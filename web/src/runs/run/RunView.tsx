import { useMemo } from "react";
import { Problem } from "../../api/Problem";
import { countsOf, passRatesOf, toldRates } from "../data/tally";
import { useRun, type WholeRun } from "../data/useRun";
import { Missing } from "../parts/Missing";
import { Name } from "../parts/Name";
import { OutcomeBar } from "../parts/OutcomeBar";
import { Quiet } from "../parts/Quiet";
import { Attempts } from "./Attempts";
import { Configuration } from "./Configuration";
import { PassRates } from "./PassRates";
import { RunFacts } from "./RunFacts";
import styles from "./RunView.module.css";

/** A run: what it was, what came of it, and its attempts. */
export function RunView({ name }: { name: string }) {
  const whole = useRun(name);
  const { run, error, reload } = whole;
  return (
    <>
      <h1 className={styles.title}>
        <Name text={name} />
      </h1>
      {error && <Problem what="The run could not be loaded" error={error} onRetry={reload} />}
      {run === null && error === null && <Quiet>Loading…</Quiet>}
      {run !== null && <Loaded name={name} whole={whole} />}
    </>
  );
}

function Loaded({ name, whole }: { name: string; whole: WholeRun }) {
  const { run, attempts, lines } = whole;
  const counts = useMemo(() => countsOf(attempts), [attempts]);
  const rates = useMemo(() => toldRates(lines, passRatesOf(attempts)), [lines, attempts]);
  if (run === null) return null;
  return (
    <>
      <Missing leftOut={run.leftOut} />
      <RunFacts run={run} attempts={attempts} />
      <OutcomeBar counts={counts} />
      <PassRates rates={rates} />
      <Attempts run={name} attempts={attempts} going={run.state === "running"} />
      <Configuration config={run.config.all} host={run.host} />
    </>
  );
}
