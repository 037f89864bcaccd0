import type { ReactNode } from "react";
import { Badge } from "../../ui/Badge";
import { useNow } from "../../ui/useNow";
import { isSilent } from "../data/lastSign";
import { gradedOf, type Run } from "../data/run";
import { useAttempt } from "../data/useAttempt";
import { LastSign } from "./LastSign";
import styles from "./RunView.module.css";

/** Whether a run is over, and how far it is if not. */
export function RunState({ run }: { run: Run }) {
  const first = run.running[0];
  if (run.finished) return <State badge={<Badge>finished</Badge>} />;
  if (first === undefined)
    return <State badge={<Badge tone="accent">not finished</Badge>} progress={progressOf(run)} />;
  return <Going run={run} attempt={first} />;
}

/** A run with attempts that have no line yet: it goes on, or was killed. */
function Going({ run, attempt }: { run: Run; attempt: string }) {
  const { data } = useAttempt(run.name, attempt);
  const going = data?.state === "running" ? data : null;
  const now = useNow();
  const word = isSilent(going, now) ? "not finished" : "running";
  return (
    <>
      <State badge={<Badge tone="accent">{word}</Badge>} progress={progressOf(run)} />
      <LastSign line={going} now={now} />
    </>
  );
}

function State({ badge, progress = "" }: { badge: ReactNode; progress?: string }) {
  return (
    <div>
      <dt className="visually-hidden">State</dt>
      <dd>
        {badge} {progress !== "" && <span className={styles.progress}>{progress}</span>}
      </dd>
    </div>
  );
}

/** "3 ended, 1 running": how many there will be is not known before they have begun. */
function progressOf({ counts, running }: Run): string {
  return `${(gradedOf(counts) + counts.ungraded).toLocaleString("en")} ended, ${running.length} running`;
}
