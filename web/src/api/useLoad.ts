import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { ApiError } from "./client";
import { useReportTokenNeeded } from "./TokenGate";

export interface LoadState<T> {
  /** The newest data; null: not loaded yet. */
  data: T | null;
  /** Why the last request failed; null: it did not. */
  error: Error | null;
  loading: boolean;
  /** Loads again. The data stays until the answer comes. */
  reload: () => void;
}

interface LoadResult<T> {
  key: string;
  data: T | null;
  error: Error | null;
}

/** Loads what key names, and again when the key changes; null loads nothing. */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): LoadState<T> {
  const [answer, setAnswer] = useState<LoadResult<T> | null>(null);
  const [reloads, setRound] = useState(0);
  const [finished, setAnswered] = useState("");
  const onTokenNeeded = useReportTokenNeeded();
  const loadNow = useEffectEvent(load);
  const request = `${reloads} ${key}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: request is made of key and reloads
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    const finish = (next: (old: LoadResult<T> | null) => LoadResult<T>) => {
      if (controller.signal.aborted) return;
      setAnswer(next);
      setAnswered(request);
    };
    loadNow(controller.signal)
      .then((data) => finish(() => ({ key, data, error: null })))
      .catch((error: Error) => {
        if (error instanceof ApiError && error.status === 401 && !controller.signal.aborted) onTokenNeeded();
        finish((old) => ({ key, data: old?.key === key ? old.data : null, error }));
      });
    return () => controller.abort();
  }, [request, onTokenNeeded]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const current = answer?.key === key ? answer : null;
  return {
    data: current?.data ?? null,
    error: current?.error ?? null,
    loading: key !== null && finished !== request,
    reload,
  };
}
