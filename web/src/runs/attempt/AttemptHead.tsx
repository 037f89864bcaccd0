import { Link } from "wouter";
import { runApiPath } from "../../api/client";
import { formatCount, formatDateTime, formatDuration } from "../../format/format";
import { parseTimeMs } from "../../json/values";
import type { AttemptLine } from "../../protocol/api.gen";
import { comparePath } from "../../routes/paths";
import { plainName } from "../../text/displayText";
import { useNow } from "../../ui/useNow";
import { attemptCostText, attemptOf } from "../data/attempt";
import { filesOf } from "../data/file";
import { isUnfinished, outcomeText } from "../data/outcome";
import { unfinishedDurationMs } from "../data/unfinishedDuration";
import { DownloadLink } from "../parts/DownloadLink";
import { ForeignName } from "../parts/ForeignName";
import { VerdictBadge } from "../parts/VerdictBadge";
import styles from "./AttemptHead.module.css";
import { NeighbourLinks } from "./NeighbourLinks";

/** The heading of an attempt with its main figures. */
export function AttemptHead({ run, name, line }: { run: string; name: string; line: AttemptLine }) {
  const attempt = attemptOf(line);
  const running = attempt?.verdict === "running";
  const now = useNow(running);
  const base = `${runApiPath(run)}/attempts/${encodeURIComponent(name)}`;
  const file = filesOf(base, line).find((one) => one.name === "notebook.ipynb");
  if (attempt === null) return <h1 className={styles.title}>{plainName(name)}</h1>;
  const facts: [string, string][] = isUnfinished(attempt.verdict)
    ? [
        [running ? "Running for" : "Ran for", formatDuration(unfinishedDurationMs(line, now))],
        ["Started", formatDateTime(parseTimeMs(line.started))],
        ["Last change", formatDateTime(parseTimeMs(line.changed))],
      ]
    : [
        ...(line.person === undefined ? [] : [["Person", plainName(line.person)] as [string, string]]),
        ["Outcome", plainName(outcomeText(attempt.outcome))],
        ["Took", formatDuration(attempt.durationMs)],
        ["Turns", formatCount(attempt.turns)],
        ["Actions", formatCount(attempt.actions)],
        ["Tokens", formatCount(attempt.tokens)],
        ["Cost", attemptCostText(line.usage ?? {})],
      ];
  const tries =
    attempt.epoch === null ? "" : `epoch ${formatCount(attempt.epoch)}, try ${formatCount(attempt.try ?? 1)}`;
  return (
    <div className={styles.head}>
      <h1 className={styles.title}>
        <ForeignName text={attempt.caseId || line.slug || name} />
      </h1>
      <VerdictBadge verdict={attempt.verdict} />
      <span className={styles.tries}>{tries}</span>
      <dl className={styles.facts}>
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <span className={styles.compare}>
        <Link href={comparePath({ run, attempt: name }, null)}>Compare with another</Link>
        {file !== undefined && <DownloadLink path={file.path} name={`${name}.ipynb`} />}
      </span>
      {attempt.n > 0 && <NeighbourLinks run={run} n={attempt.n} />}
    </div>
  );
}
