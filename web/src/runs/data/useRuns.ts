import { useCallback, useEffect, useState } from "react";
import { ApiError, getJSON } from "../../api/client";
import { useTokenNeeded } from "../../api/TokenGate";
import { type RunPage, runPageSchema } from "../../protocol/api.gen";
import { type Run, runOf } from "./run";
import { useVisibleInterval } from "./useVisibleInterval";

const page = 50;
/** How often the list is asked for: while a run goes on, and to see whether one has begun. */
const goingMs = 2000;
const idleMs = 10_000;

export interface Runs {
  /** null: none have come yet. */
  runs: readonly Run[] | null;
  /** Name behind which there are more; null: there are not. */
  next: string | null;
  error: Error | null;
  loading: boolean;
  more: () => void;
  reload: () => void;
}

interface Listed {
  runs: readonly Run[];
  next: string | null;
}

/** The runs, newest first, page by page. The first page is asked for again, the more often while one of its runs goes on. */
export function useRuns(): Runs {
  const [listed, setListed] = useState<Listed | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [asking, setAsking] = useState(0);
  const refused = useTokenNeeded();
  const ask = useCallback(
    (after: string | null) => {
      setAsking((n) => n + 1);
      getJSON("/api/runs", runPageSchema, { limit: page, after })
        .then((answer) => {
          const found = listedOf(answer);
          setListed((old) => (old === null ? found : joined(old, found, after)));
          setError(null);
        })
        .catch((problem: Error) => {
          if (problem instanceof ApiError && problem.status === 401) refused();
          setError(problem);
        })
        .finally(() => setAsking((n) => n - 1));
    },
    [refused],
  );
  const reload = useCallback(() => ask(null), [ask]);
  useEffect(reload, [reload]);
  const going = listed?.runs.slice(0, page).some((run) => run.state === "running" && run.problem === "") ?? false;
  const again = going ? goingMs : idleMs;
  useVisibleInterval(reload, listed !== null && asking === 0 ? again : null);
  return {
    runs: listed?.runs ?? null,
    next: listed?.next ?? null,
    error,
    loading: asking > 0,
    more: () => ask(listed?.next ?? null),
    reload,
  };
}

function listedOf({ runs, next }: RunPage): Listed {
  return { runs: runs.map(runOf).filter((run) => run.name !== ""), next: next || null };
}

/** The list with a page put into it: one behind `after`, or the first one again. */
function joined(old: Listed, found: Listed, after: string | null): Listed {
  const fresh = new Set(found.runs.map((run) => run.name));
  const rest = old.runs.filter((run) => !fresh.has(run.name));
  if (after !== null) return { runs: [...rest, ...found.runs], next: found.next };
  const last = found.runs.at(-1)?.name;
  const from = old.runs.findIndex((run) => run.name === last);
  const behind = from < 0 ? [] : old.runs.slice(from + 1).filter((run) => !fresh.has(run.name));
  return behind.length === 0 ? found : { runs: [...found.runs, ...behind], next: old.next };
}
