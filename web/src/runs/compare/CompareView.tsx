import { Suspense, useMemo } from "react";
import { Link } from "wouter";
import { attemptSource } from "../../api/client";
import { Problem } from "../../api/Problem";
import type { AttemptLine } from "../../protocol/api.gen";
import { type AttemptName, attemptPath } from "../../routes/paths";
import { lazyPart } from "../../ui/lazyPart";
import { PageBoundary } from "../../ui/PageBoundary";
import { useAttempt } from "../data/useAttempt";
import { Name } from "../parts/Name";
import { Quiet } from "../parts/Quiet";
import { useNewTravel } from "../timeline/useTravel";
import styles from "./Compare.module.css";
import { FigureTable } from "./FigureTable";

const Traces = lazyPart(async () => (await import("./Traces")).default);

/** Two attempts against each other. */
export function CompareView({ a, b }: { a: AttemptName; b: AttemptName }) {
  const left = useAttempt(a.run, a.attempt);
  const right = useAttempt(b.run, b.attempt);
  const error = left.error ?? right.error;
  const travels = useTravels(a, b);
  return (
    <>
      <div className={styles.names}>
        <Title side="A" name={a} line={left.data} />
        <Title side="B" name={b} line={right.data} />
      </div>
      {error && <Problem what="An attempt could not be loaded" error={error} onRetry={left.reload} />}
      {left.data !== null && right.data !== null ? (
        <FigureTable a={left.data} b={right.data} />
      ) : (
        error === null && <Quiet>Loading…</Quiet>
      )}
      {travels && (
        <PageBoundary>
          <Suspense fallback={<Quiet>Loading…</Quiet>}>
            <Traces travels={travels} />
          </Suspense>
        </PageBoundary>
      )}
    </>
  );
}

function useTravels(a: AttemptName, b: AttemptName) {
  const left = useNewTravel(attemptSource(a.run, a.attempt, false));
  const right = useNewTravel(attemptSource(b.run, b.attempt, false));
  return useMemo(() => (left && right ? ([left, right] as const) : null), [left, right]);
}

function Title({ side, name, line }: { side: string; name: AttemptName; line: AttemptLine | null }) {
  return (
    <p className={styles.name}>
      <strong>{side}</strong>{" "}
      <Link href={attemptPath(name.run, name.attempt)}>
        <Name text={line?.case_id || name.attempt} />
      </Link>{" "}
      <span>
        in <Name text={name.run} />
      </span>
    </p>
  );
}
