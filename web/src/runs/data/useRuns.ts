import { useCallback, useEffect, useState } from "react";
import { ApiError, getJSON } from "../../api/client";
import { useReportTokenNeeded } from "../../api/TokenGate";
import { type RunPage, runPageSchema } from "../../protocol/api.gen";
import { type Run, runOf } from "./run";
import { useVisibleInterval } from "./useVisibleInterval";

const runsPageSize = 50;
/** Milliseconds between reloads of the list of runs while a run is in progress (active) or none is (idle). */
const activePollMs = 2000;
const idlePollMs = 10_000;

/** The runs that were loaded so far, and functions that load more or reload them. */
export interface LoadedRuns {
  /** null: not loaded yet. */
  runs: readonly Run[] | null;
  /** Name of the last run if there are more after it; else null. */
  next: string | null;
  error: Error | null;
  loading: boolean;
  more: () => void;
  reload: () => void;
}

/** Consecutive runs of the list, newest first, and the name to load the next ones after. */
interface RunListPart {
  runs: readonly Run[];
  next: string | null;
}

/**
 * Loads the runs, newest first, page by page. Reloads the first page regularly, more often while
 * one of its runs is in progress.
 */
export function useRuns(): LoadedRuns {
  const [listed, setListed] = useState<RunListPart | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [pendingRequests, setPendingRequests] = useState(0);
  const refused = useReportTokenNeeded();
  const ask = useCallback(
    (after: string | null) => {
      setPendingRequests((n) => n + 1);
      getJSON("/api/runs", runPageSchema, { limit: runsPageSize, after })
        .then((answer) => {
          const found = runListPartOf(answer);
          setListed((old) => (old === null ? found : insertPageOfRuns(old, found, after)));
          setError(null);
        })
        .catch((problem: Error) => {
          if (problem instanceof ApiError && problem.status === 401) refused();
          setError(problem);
        })
        .finally(() => setPendingRequests((n) => n - 1));
    },
    [refused],
  );
  const reload = useCallback(() => ask(null), [ask]);
  useEffect(reload, [reload]);
  const going =
    listed?.runs.slice(0, runsPageSize).some((run) => run.state === "running" && run.problem === "") ?? false;
  const again = going ? activePollMs : idlePollMs;
  useVisibleInterval(reload, listed !== null && pendingRequests === 0 ? again : null);
  return {
    runs: listed?.runs ?? null,
    next: listed?.next ?? null,
    error,
    loading: pendingRequests > 0,
    more: () => ask(listed?.next ?? null),
    reload,
  };
}

function runListPartOf({ runs, next }: RunPage): RunListPart {
  return { runs: runs.map(runOf).filter((run) => run.name !== ""), next: next || null };
}

/**
 * Inserts a newly loaded page into the list of runs. after is the name of the run that the page
 * follows; null means that the page is the first one, loaded again.
 */
function insertPageOfRuns(old: RunListPart, found: RunListPart, after: string | null): RunListPart {
  const fresh = new Set(found.runs.map((run) => run.name));
  const rest = old.runs.filter((run) => !fresh.has(run.name));
  if (after !== null) return { runs: [...rest, ...found.runs], next: found.next };
  const last = found.runs.at(-1)?.name;
  const from = old.runs.findIndex((run) => run.name === last);
  const behind = from < 0 ? [] : old.runs.slice(from + 1).filter((run) => !fresh.has(run.name));
  return behind.length === 0 ? found : { runs: [...found.runs, ...behind], next: old.next };
}
