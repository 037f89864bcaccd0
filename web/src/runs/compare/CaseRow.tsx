import { Link } from "wouter";
import { attemptPath, comparePath } from "../../routes/paths";
import { Name } from "../parts/Name";
import { VerdictMark } from "../parts/VerdictMark";
import type { CasePair, Side } from "./caseByCase";
import styles from "./RunsCompare.module.css";

/** Epochs that are named one by one. */
const most = 10;

interface Props {
  /** Names of the runs. */
  a: string;
  b: string;
  pair: CasePair;
}

/** What came of a case in two runs, with the ways to its attempts. */
export function CaseRow({ a, b, pair }: Props) {
  const left = shownOf(pair.a);
  const right = shownOf(pair.b);
  return (
    <tr className={pair.flipped ? styles.flipped : ""}>
      <th scope="row">
        <Name text={pair.caseId} />
        {pair.flipped && <span className="visually-hidden">, not the same</span>}
      </th>
      <td>
        <SideView run={a} side={pair.a} />
      </td>
      <td>
        <SideView run={b} side={pair.b} />
      </td>
      <td>
        {left && right && (
          <Link href={comparePath({ run: a, attempt: left.name }, { run: b, attempt: right.name })}>Compare</Link>
        )}
      </td>
    </tr>
  );
}

/** The attempt to look at: the first that did not pass, or else the first. */
function shownOf(side: Side | null) {
  return side?.attempts.find((attempt) => attempt.verdict !== "passed") ?? side?.attempts[0];
}

function SideView({ run, side }: { run: string; side: Side | null }) {
  const first = side?.attempts[0];
  if (side === null || first === undefined) return <span className={styles.none}>not tried</span>;
  if (side.attempts.length === 1) {
    return (
      <Link href={attemptPath(run, first.name)}>
        <VerdictMark verdict={first.verdict} />
      </Link>
    );
  }
  return (
    <span className={styles.epochs}>
      <span>{side.graded === 0 ? "ungraded" : `${side.passed}/${side.graded} passed`}</span>
      {side.attempts.slice(0, most).map((attempt) => (
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
