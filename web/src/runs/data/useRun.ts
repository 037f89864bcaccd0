import { useCallback, useEffect, useMemo, useState } from "react";
import { ApiError, getJSON } from "../../api/client";
import { useRefused } from "../../app/TokenGate";
import type { Fields } from "./json";
import { type Attempt, attemptsOf, runningOf } from "./line";
import { runBase } from "./paths";
import { type Lines, readLines } from "./readLines";
import { type Run, runOf } from "./run";
import { summaryOf } from "./useSummary";
import { useVisibleInterval } from "./useVisibleInterval";

const pollMs = 2000;

export interface WholeRun {
  /** null: it is not here yet. */
  run: Run | null;
  /** Those that run first, then those that have ended and cases that were skipped, the newest line first. */
  attempts: readonly Attempt[];
  /** Its last line, when it is over. */
  summary: Fields | null;
  /** Lines that cannot be read. */
  problems: readonly string[];
  error: Error | null;
  loading: boolean;
  reload: () => void;
}

const nothing: Lines = { lines: [], last: 0, problems: [] };

/** A run and all its attempts; while it goes on, what has been added is asked for every two seconds. */
export function useRun(name: string): WholeRun {
  const [run, setRun] = useState<Run | null>(null);
  const [read, setRead] = useState<Lines>(nothing);
  const [error, setError] = useState<Error | null>(null);
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const refused = useRefused();
  const reload = useCallback(() => setRound((n) => n + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: round asks again; read grows by what the answer brings
  useEffect(() => {
    const gone = new AbortController();
    setLoading(true);
    const told = getJSON(runBase(name), {}, gone.signal).then(runOf);
    Promise.all([told, readLines(name, read.last, gone.signal)])
      .then(([found, added]) => {
        setRun(found);
        setRead((old) => (added.last > old.last ? grown(old, added) : old));
        setError(null);
      })
      .catch((problem: Error) => {
        if (gone.signal.aborted) return;
        if (problem instanceof ApiError && problem.status === 401) refused();
        setError(problem);
      })
      .finally(() => gone.signal.aborted || setLoading(false));
    return () => gone.abort();
  }, [name, round, refused]);
  useVisibleInterval(reload, run !== null && !run.finished && !loading ? pollMs : null);
  const ended = useMemo(() => attemptsOf(read.lines).reverse(), [read.lines]);
  const running = run?.running.join("/") ?? ""; // no folder's name has a slash: the same names are the same rows
  const attempts = useMemo(() => withRunning(running, ended), [running, ended]);
  return { run, attempts, summary: summaryOf(read.lines), problems: read.problems, error, loading, reload };
}

function grown(old: Lines, added: Lines): Lines {
  return {
    lines: [...old.lines, ...added.lines],
    last: added.last,
    problems: [...old.problems, ...added.problems],
  };
}

/** Attempts without a line, whose names have slashes between them, in front of those that have one. */
function withRunning(running: string, ended: readonly Attempt[]): readonly Attempt[] {
  if (running === "") return ended;
  const done = new Set(ended.map((attempt) => attempt.name));
  const names = running.split("/").filter((name) => name !== "" && !done.has(name));
  return [...names.map(runningOf), ...ended];
}
