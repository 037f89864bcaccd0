import TriangleAlert from "lucide-react/icons/triangle-exclamation-point";
import { memo } from "react";
import { Link } from "wouter";
import { formatCost, formatCount, formatDuration, formatScore } from "../../format/format";
import { attemptPath } from "../../routes/paths";
import { oneLine, plainName, showInvisible } from "../../text/displayText";
import type { Attempt } from "../data/attempt";
import { isUnfinished, outcomeText } from "../data/outcome";
import { ForeignName } from "../parts/ForeignName";
import { VerdictBadge } from "../parts/VerdictBadge";
import styles from "./AttemptTable.module.css";
import { RunningDuration } from "./RunningDuration";

interface Props {
  run: string;
  attempt: Attempt;
  /** Index in the table, from 0. */
  row: number;
  /** The row is in the tab order. */
  current: boolean;
  chosen: boolean;
  onFocus: (row: number) => void;
  onChoose: (name: string) => void;
}

/** An attempt or a skipped case in the table of a run. */
export const AttemptRow = memo(function AttemptRow({ run, attempt, row, current, chosen, onFocus, onChoose }: Props) {
  const { name } = attempt;
  return (
    <tr
      data-row={row}
      aria-rowindex={row + 2}
      aria-selected={chosen}
      tabIndex={current ? 0 : -1}
      className={chosen ? styles.chosen : ""}
      onFocus={() => onFocus(row)}
    >
      <td className={styles.choose}>
        {name !== "" && (
          <input
            type="checkbox"
            tabIndex={-1}
            checked={chosen}
            aria-label={`Compare ${plainName(attempt.caseId)}`}
            onChange={() => onChoose(name)}
          />
        )}
      </td>
      <th scope="row" className={styles.case}>
        {name === "" ? (
          <ForeignName text={attempt.caseId} />
        ) : (
          <Link href={attemptPath(run, name)} tabIndex={-1}>
            <ForeignName text={attempt.caseId === "" ? name : attempt.caseId} />
          </Link>
        )}
      </th>
      <td>{epochAndTryText(attempt)}</td>
      <td>
        <VerdictBadge verdict={attempt.verdict} />
      </td>
      <td className={styles.outcome} title={showInvisible(attempt.detail)}>
        {outcomeWithReason(attempt)}
      </td>
      <td className={styles.number}>{formatScore(attempt.score)}</td>
      <td className={styles.number}>
        {isUnfinished(attempt.verdict) ? (
          <RunningDuration run={run} attempt={name} />
        ) : (
          formatDuration(attempt.durationMs)
        )}
      </td>
      <td className={styles.number}>{`${formatCount(attempt.turns)} / ${formatCount(attempt.actions)}`}</td>
      <td className={styles.number}>{formatCount(attempt.tokens)}</td>
      <td className={styles.number}>{formatCost(attempt.costUsd)}</td>
      <td className={styles.number}>{attempt.tamper > 0 ? <TamperCount signals={attempt.tamper} /> : "–"}</td>
    </tr>
  );
});

/** Returns on one line how an attempt ended and why, if that is known; why a case was skipped. */
function outcomeWithReason({ verdict, outcome, detail }: Attempt): string {
  if (verdict === "skipped") return plainName(detail);
  return [plainName(outcomeText(outcome)), oneLine(detail)].filter(Boolean).join(": ");
}

function epochAndTryText({ epoch, try: again }: Attempt): string {
  if (epoch === null) return "–";
  return again !== null && again > 1 ? `${formatCount(epoch)}, again ${formatCount(again)}` : formatCount(epoch);
}

function TamperCount({ signals }: { signals: number }) {
  return (
    <span className={styles.tamper}>
      <TriangleAlert aria-hidden="true" />
      {formatCount(signals)}
    </span>
  );
}
