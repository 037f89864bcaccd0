import { Suspense, useMemo } from "react";
import { Link } from "wouter";
import { traceSourceOfAttempt } from "../../api/client";
import { Problem } from "../../api/Problem";
import type { AttemptLine } from "../../protocol/api.gen";
import { type AttemptName, attemptPath } from "../../routes/paths";
import { LoadErrorBoundary } from "../../ui/LoadErrorBoundary";
import { lazyPart } from "../../ui/lazyPart";
import { useAttempt } from "../data/useAttempt";
import { ForeignName } from "../parts/ForeignName";
import { MutedText } from "../parts/MutedText";
import { useNewTimeline } from "../timeline/useTimeline";
import styles from "./Compare.module.css";
import { ComparisonTable } from "./ComparisonTable";

const LazyTraceComparison = lazyPart(async () => (await import("./TraceComparison")).default);

/** Compares two attempts: figures, notebooks and conversations. */
export function CompareView({ a, b }: { a: AttemptName; b: AttemptName }) {
  const left = useAttempt(a.run, a.attempt);
  const right = useAttempt(b.run, b.attempt);
  const error = left.error ?? right.error;
  const timelines = useAttemptTimelines(a, b);
  return (
    <>
      <div className={styles.names}>
        <AttemptTitle side="A" name={a} line={left.data} />
        <AttemptTitle side="B" name={b} line={right.data} />
      </div>
      {error && <Problem what="An attempt could not be loaded" error={error} onRetry={left.reload} />}
      {left.data !== null && right.data !== null ? (
        <ComparisonTable a={left.data} b={right.data} />
      ) : (
        error === null && <MutedText>Loading…</MutedText>
      )}
      {timelines && (
        <LoadErrorBoundary>
          <Suspense fallback={<MutedText>Loading…</MutedText>}>
            <LazyTraceComparison timelines={timelines} />
          </Suspense>
        </LoadErrorBoundary>
      )}
    </>
  );
}

function useAttemptTimelines(a: AttemptName, b: AttemptName) {
  const left = useNewTimeline(traceSourceOfAttempt(a.run, a.attempt, false));
  const right = useNewTimeline(traceSourceOfAttempt(b.run, b.attempt, false));
  return useMemo(() => (left && right ? ([left, right] as const) : null), [left, right]);
}

function AttemptTitle({ side, name, line }: { side: string; name: AttemptName; line: AttemptLine | null }) {
  return (
    <p className={styles.name}>
      <strong>{side}</strong>{" "}
      <Link href={attemptPath(name.run, name.attempt)}>
        <ForeignName text={line?.case_id || name.attempt} />
      </Link>{" "}
      <span>
        in <ForeignName text={name.run} />
      </span>
    </p>
  );
}
