import { useMemo, useState } from "react";
import { Link } from "wouter";
import { Problem } from "../../api/Problem";
import { useLoad } from "../../api/useLoad";
import { runPath, runsComparePath } from "../../routes/paths";
import { Button } from "../../ui/Button";
import { attemptsOf } from "../data/attempt";
import { readLines } from "../data/readLines";
import { ForeignName } from "../parts/ForeignName";
import { MutedText } from "../parts/MutedText";
import { UnreadableLinesNotice } from "../parts/UnreadableLinesNotice";
import { CaseRow } from "./CaseRow";
import { casePairs, countPairsByResult, type PairCounts } from "./caseByCase";
import styles from "./RunsCompare.module.css";

/** Number of cases that are shown at first. */
const maxInitialCases = 300;

/** Two runs compared case by case, cases with different results first. */
export function RunsCompare({ a, b }: { a: string; b: string }) {
  const [left, right] = [useAttempts(a), useAttempts(b)];
  const pairs = useMemo(
    () => (left.data && right.data ? casePairs(left.data.attempts, right.data.attempts) : null),
    [left.data, right.data],
  );
  const counts = useMemo(() => countPairsByResult(pairs ?? []), [pairs]);
  const [all, setAll] = useState(false);
  return (
    <>
      <h1 className={styles.title}>Compare two runs</h1>
      <p className={styles.runs}>
        <RunLink side="A" run={a} />
        <RunLink side="B" run={b} />
        <Link href={runsComparePath(b, a)}>Swap</Link>
      </p>
      {left.error && <Problem what="Run A could not be loaded" error={left.error} onRetry={left.reload} />}
      {right.error && <Problem what="Run B could not be loaded" error={right.error} onRetry={right.reload} />}
      <UnreadableLinesNotice of="A: " leftOut={left.data?.leftOut ?? null} />
      <UnreadableLinesNotice of="B: " leftOut={right.data?.leftOut ?? null} />
      {pairs === null && left.error === null && right.error === null && <MutedText>Loading…</MutedText>}
      {pairs?.length === 0 && <MutedText>No finished attempts in either run.</MutedText>}
      {pairs !== null && pairs.length > 0 && (
        <>
          <PairCountList counts={counts} />
          <div className={styles.scroller}>
            <table className={styles.table}>
              <caption className="visually-hidden">Cases, differing ones first</caption>
              <thead>
                <tr>
                  <th scope="col">Case</th>
                  <th scope="col">A</th>
                  <th scope="col">B</th>
                  <th scope="col">
                    <span className="visually-hidden">Compare</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {pairs.slice(0, all ? pairs.length : maxInitialCases).map((pair) => (
                  <CaseRow key={pair.caseId} a={a} b={b} pair={pair} />
                ))}
              </tbody>
            </table>
          </div>
          {!all && pairs.length > maxInitialCases && (
            <Button
              className={styles.all ?? ""}
              onClick={() => setAll(true)}
            >{`Show all ${pairs.length} cases`}</Button>
          )}
        </>
      )}
    </>
  );
}

function useAttempts(run: string) {
  return useLoad(run, async (signal) => {
    const { lines, leftOut } = await readLines(run, 0, signal);
    return { attempts: attemptsOf(lines), leftOut };
  });
}

function RunLink({ side, run }: { side: string; run: string }) {
  return (
    <span>
      <strong>{side}</strong>{" "}
      <Link href={runPath(run)}>
        <ForeignName text={run} />
      </Link>
    </span>
  );
}

function PairCountList({ counts }: { counts: PairCounts }) {
  const said: readonly (readonly [string, number])[] = [
    ["Both passed", counts.both],
    ["Only A", counts.onlyA],
    ["Only B", counts.onlyB],
    ["Neither", counts.neither],
    ["Not graded in both", counts.single],
  ];
  return (
    <dl className={styles.counts} title="A case has passed when all its epochs have">
      {said.map(([name, count]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{count.toLocaleString("en")}</dd>
        </div>
      ))}
    </dl>
  );
}
