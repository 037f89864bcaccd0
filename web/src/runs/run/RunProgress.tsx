import { useNow } from "../../ui/useNow";
import { endedCount, type Run } from "../data/run";
import { useAttempt } from "../data/useAttempt";
import { RunStateBadge } from "../parts/RunStateBadge";
import { LastTraceChange } from "./LastTraceChange";
import styles from "./RunView.module.css";

/**
 * Shows the state of a run and, if it is not finished, its progress and when its first unfinished
 * attempt last changed.
 */
export function RunProgress({ run }: { run: Run }) {
  const [first] = run.running;
  return (
    <>
      <div>
        <dt className="visually-hidden">State</dt>
        <dd>
          <RunStateBadge state={run.state} />{" "}
          {run.state !== "finished" && <span className={styles.progress}>{runProgressText(run)}</span>}
        </dd>
      </div>
      {first !== undefined && <UnfinishedAttemptChange run={run.name} attempt={first} />}
    </>
  );
}

/** Shows when an unfinished attempt last wrote to its trace. */
function UnfinishedAttemptChange({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const now = useNow();
  return <LastTraceChange line={data} now={now} />;
}

/**
 * Returns the progress of an unfinished run, such as "3 ended, 1 running". The total number of
 * attempts is unknown until all have started.
 */
function runProgressText({ counts, running, state }: Run): string {
  const open = state === "running" ? "running" : "not ended";
  return `${endedCount(counts).toLocaleString("en")} ended, ${running.length} ${open}`;
}
