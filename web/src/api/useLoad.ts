import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { ApiError } from "./client";
import { useRefused } from "./TokenGate";

export interface Loaded<T> {
  /** What came last; null: nothing has yet. */
  data: T | null;
  /** Why the last question had no answer. */
  error: Error | null;
  loading: boolean;
  /** Asks again; what there is stays until the answer comes. */
  reload: () => void;
}

interface Answer<T> {
  key: string;
  data: T | null;
  error: Error | null;
}

/** Loads what key names, again when key is another; null loads nothing. */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [answer, setAnswer] = useState<Answer<T> | null>(null);
  const [round, setRound] = useState(0);
  const [answered, setAnswered] = useState("");
  const refused = useRefused();
  const ask = useEffectEvent(load);
  const question = `${round} ${key}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: question is key and round, which ask again
  useEffect(() => {
    if (key === null) return;
    const gone = new AbortController();
    const settle = (next: (old: Answer<T> | null) => Answer<T>) => {
      if (gone.signal.aborted) return;
      setAnswer(next);
      setAnswered(question);
    };
    ask(gone.signal)
      .then((data) => settle(() => ({ key, data, error: null })))
      .catch((error: Error) => {
        if (error instanceof ApiError && error.status === 401 && !gone.signal.aborted) refused();
        settle((old) => ({ key, data: old?.key === key ? old.data : null, error }));
      });
    return () => gone.abort();
  }, [question, refused]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const mine = answer?.key === key ? answer : null;
  return {
    data: mine?.data ?? null,
    error: mine?.error ?? null,
    loading: key !== null && answered !== question,
    reload,
  };
}
