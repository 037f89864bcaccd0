import { useCallback, useEffect, useMemo, useState } from "react";
import { ApiError, getJSON, runApiPath } from "../../api/client";
import { useReportTokenNeeded } from "../../api/TokenGate";
import { type AttemptLine, runItemSchema } from "../../protocol/api.gen";
import { type Attempt, attemptsOf, unfinishedAttempt } from "./attempt";
import type { UnfinishedState } from "./outcome";
import { type AttemptLines, readLines } from "./readLines";
import { type Run, runOf } from "./run";
import { useVisibleInterval } from "./useVisibleInterval";

/** Interval in milliseconds at which a run in progress is reloaded. */
const runPollMs = 2000;

/** A run, its attempts, and the state of loading them. */
export interface RunWithAttempts {
  /** null: not loaded yet. */
  run: Run | null;
  /** Unfinished attempts first, then ended attempts and skipped cases, the newest line first. */
  attempts: readonly Attempt[];
  /** All lines of attempts.jsonl. */
  lines: readonly AttemptLine[];
  error: Error | null;
  loading: boolean;
  reload: () => void;
}

const noAttemptLines: AttemptLines = { lines: [], last: 0, leftOut: null };

/** Loads a run and all its attempts. While the run is in progress, loads new attempts every 2 s. */
export function useRun(name: string): RunWithAttempts {
  const [run, setRun] = useState<Run | null>(null);
  const [read, setRead] = useState<AttemptLines>(noAttemptLines);
  const [error, setError] = useState<Error | null>(null);
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const refused = useReportTokenNeeded();
  const reload = useCallback(() => setRound((n) => n + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: round requests a reload; read changes with each response
  useEffect(() => {
    const controller = new AbortController();
    setLoading(true);
    const loadedRun = getJSON(runApiPath(name), runItemSchema, {}, controller.signal).then(runOf);
    Promise.all([loadedRun, readLines(name, read.last, controller.signal)])
      .then(([found, added]) => {
        setRun(found);
        setRead((old) => (added.last > old.last ? appendLines(old, added) : old));
        setError(null);
      })
      .catch((problem: Error) => {
        if (controller.signal.aborted) return;
        if (problem instanceof ApiError && problem.status === 401) refused();
        setError(problem);
      })
      .finally(() => controller.signal.aborted || setLoading(false));
    return () => controller.abort();
  }, [name, round, refused]);
  useVisibleInterval(reload, run?.state === "running" && !loading ? runPollMs : null);
  const ended = useMemo(() => attemptsOf(read.lines).reverse(), [read.lines]);
  const open = run?.running.join("/") ?? ""; // as one string, so that equal names do not re-render; folder names contain no slash
  const verdict = run?.state === "running" ? "running" : "interrupted";
  const attempts = useMemo(() => withUnfinishedAttempts(open, verdict, ended), [open, verdict, ended]);
  return { run, attempts, lines: read.lines, error, loading, reload };
}

/** Appends newly read lines of attempts.jsonl to those read before. */
function appendLines(old: AttemptLines, added: AttemptLines): AttemptLines {
  return {
    lines: [...old.lines, ...added.lines],
    last: added.last,
    leftOut: null, // the run has the count of all unreadable lines
  };
}

/**
 * Puts the unfinished attempts before those that have a line. open holds the folder names of the
 * unfinished attempts, separated by slashes; names that have a line by now are left out.
 */
function withUnfinishedAttempts(open: string, verdict: UnfinishedState, ended: readonly Attempt[]): readonly Attempt[] {
  if (open === "") return ended;
  const done = new Set(ended.map((attempt) => attempt.name));
  const names = open.split("/").filter((name) => name !== "" && !done.has(name));
  return [...names.map((name) => unfinishedAttempt(name, verdict)), ...ended];
}
