import { Link } from "wouter";
import { attemptPath, comparePath } from "../../routes/paths";
import { ForeignName } from "../parts/ForeignName";
import { VerdictBadge } from "../parts/VerdictBadge";
import type { CasePair, CaseResults } from "./caseByCase";
import styles from "./RunsCompare.module.css";

/** How many epochs of a case get a link each. */
const maxEpochLinks = 10;

interface Props {
  /** Names of the runs. */
  a: string;
  b: string;
  pair: CasePair;
}

/** A table row with the results of one case in two runs, with links to its attempts. */
export function CaseRow({ a, b, pair }: Props) {
  const left = attemptToCompare(pair.a);
  const right = attemptToCompare(pair.b);
  return (
    <tr className={pair.flipped ? styles.flipped : ""}>
      <th scope="row">
        <ForeignName text={pair.caseId} />
        {pair.flipped && <span className="visually-hidden">, not the same</span>}
      </th>
      <td>
        <CaseResultsInRun run={a} side={pair.a} />
      </td>
      <td>
        <CaseResultsInRun run={b} side={pair.b} />
      </td>
      <td>
        {left && right && (
          <Link href={comparePath({ run: a, attempt: left.name }, { run: b, attempt: right.name })}>Compare</Link>
        )}
      </td>
    </tr>
  );
}

/**
 * Returns the attempt of a case to compare: the first that did not pass, else the first. undefined
 * if the case was not tried.
 */
function attemptToCompare(side: CaseResults | null) {
  return side?.attempts.find((attempt) => attempt.verdict !== "passed") ?? side?.attempts[0];
}

function CaseResultsInRun({ run, side }: { run: string; side: CaseResults | null }) {
  const first = side?.attempts[0];
  if (side === null || first === undefined) return <span className={styles.none}>not tried</span>;
  if (side.attempts.length === 1) {
    return (
      <Link href={attemptPath(run, first.name)}>
        <VerdictBadge verdict={first.verdict} />
      </Link>
    );
  }
  return (
    <span className={styles.epochs}>
      <span>{side.graded === 0 ? "ungraded" : `${side.passed}/${side.graded} passed`}</span>
      {side.attempts.slice(0, maxEpochLinks).map((attempt) => (
        <Link
          key={attempt.name}
          href={attemptPath(run, attempt.name)}
          aria-label={`Epoch ${attempt.epoch ?? "unknown"}, ${attempt.verdict}`}
          title={`Epoch ${attempt.epoch ?? "unknown"}, ${attempt.verdict}`}
        >
          {attempt.verdict === "passed" ? "✓" : attempt.verdict === "failed" ? "✕" : "○"}
        </Link>
      ))}
    </span>
  );
}
