import { useCallback, useEffect, useMemo, useState } from "react";
import { ApiError, getJSON, runApiPath } from "../../api/client";
import { useTokenNeeded } from "../../api/TokenGate";
import { type AttemptLine, runItemSchema } from "../../protocol/api.gen";
import { type Attempt, attemptsOf, unfinishedAttempt } from "./attempt";
import { type AttemptLines, readLines } from "./readLines";
import { type Run, runOf } from "./run";
import { useVisibleInterval } from "./useVisibleInterval";

const pollMs = 2000;

export interface RunWithAttempts {
  /** null: it is not here yet. */
  run: Run | null;
  /** Those without a line first, then those that have ended and cases that were skipped, the newest line first. */
  attempts: readonly Attempt[];
  /** All lines of attempts.jsonl. */
  lines: readonly AttemptLine[];
  error: Error | null;
  loading: boolean;
  reload: () => void;
}

const noLines: AttemptLines = { lines: [], last: 0, leftOut: null };

/** A run and all its attempts; while it goes on, what has been added is asked for every two seconds. */
export function useRun(name: string): RunWithAttempts {
  const [run, setRun] = useState<Run | null>(null);
  const [read, setRead] = useState<AttemptLines>(noLines);
  const [error, setError] = useState<Error | null>(null);
  const [loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const refused = useTokenNeeded();
  const reload = useCallback(() => setRound((n) => n + 1), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: round asks again; read grows by what the answer brings
  useEffect(() => {
    const gone = new AbortController();
    setLoading(true);
    const told = getJSON(runApiPath(name), runItemSchema, {}, gone.signal).then(runOf);
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
  useVisibleInterval(reload, run?.state === "running" && !loading ? pollMs : null);
  const ended = useMemo(() => attemptsOf(read.lines).reverse(), [read.lines]);
  const open = run?.running.join("/") ?? ""; // no folder's name has a slash: the same names are the same rows
  const verdict = run?.state === "running" ? "running" : "interrupted";
  const attempts = useMemo(() => withOpen(open, verdict, ended), [open, verdict, ended]);
  return { run, attempts, lines: read.lines, error, loading, reload };
}

function grown(old: AttemptLines, added: AttemptLines): AttemptLines {
  return {
    lines: [...old.lines, ...added.lines],
    last: added.last,
    leftOut: null, // the run itself tells
  };
}

/** Attempts without a line, whose names have slashes between them, in front of those that have one. */
function withOpen(open: string, verdict: "running" | "interrupted", ended: readonly Attempt[]): readonly Attempt[] {
  if (open === "") return ended;
  const done = new Set(ended.map((attempt) => attempt.name));
  const names = open.split("/").filter((name) => name !== "" && !done.has(name));
  return [...names.map((name) => unfinishedAttempt(name, verdict)), ...ended];
}
