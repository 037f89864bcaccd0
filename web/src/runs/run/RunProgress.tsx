import { useNow } from "../../ui/useNow";
import { endedCount, type Run } from "../data/run";
import { useAttempt } from "../data/useAttempt";
import { RunStateBadge } from "../parts/RunStateBadge";
import { LastChange } from "./LastChange";
import styles from "./RunView.module.css";

/** The state of a run with its progress if it is not finished. */
export function RunProgress({ run }: { run: Run }) {
  const [first] = run.running;
  return (
    <>
      <div>
        <dt className="visually-hidden">State</dt>
        <dd>
          <RunStateBadge state={run.state} />{" "}
          {run.state !== "finished" && <span className={styles.progress}>{progressOf(run)}</span>}
        </dd>
      </div>
      {first !== undefined && <UnfinishedAttemptChange run={run.name} attempt={first} />}
    </>
  );
}

/** When an unfinished attempt of the run last changed. */
function UnfinishedAttemptChange({ run, attempt }: { run: string; attempt: string }) {
  const { data } = useAttempt(run, attempt);
  const now = useNow();
  return <LastChange line={data} now={now} />;
}

/** Returns "3 ended, 1 running". The total is not known before all have started. */
function progressOf({ counts, running, state }: Run): string {
  const open = state === "running" ? "running" : "not ended";
  return `${endedCount(counts).toLocaleString("en")} ended, ${running.length} ${open}`;
}
