import { useNow } from "../../ui/useNow";
import { endedOf, type Run } from "../data/run";
import { useAttempt } from "../data/useAttempt";
import { StateBadge } from "../parts/StateBadge";
import { LastSign } from "./LastSign";
import styles from "./RunView.module.css";

/** Whether a run is over, and how far it has come if not. */
export function RunState({ run }: { run: Run }) {
  const [first] = run.running;
  return (
    <>
      <div>
        <dt className="visually-hidden">State</dt>
        <dd>
          <StateBadge state={run.state} />{" "}
          {run.state !== "finished" && <span className={styles.progress}>{progressOf(run)}</span>}
        </dd>
      </div>
      {first !== undefined && <Sign run={run.name} attempt={first} />}
    </>
  );
}

/** The last sign of life of a run that has an attempt without a line. */
function Sign({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const now = useNow();
  return <LastSign line={data} now={now} />;
}

/** "3 ended, 1 running": how many there will be is not known before they have begun. */
function progressOf({ counts, running, state }: Run): string {
  const open = state === "running" ? "running" : "not ended";
  return `${endedOf(counts).toLocaleString("en")} ended, ${running.length} ${open}`;
}
