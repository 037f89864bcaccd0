import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { State } from "../store/state";
import { useStore } from "../store/store";
import { useVisible } from "./useVisible";

type ExecutionsByCell = State["notebook"]["executions"];

/** The newest response of the kernel to a repeated request, and the state of the request. */
export interface KernelResponse<T> {
  /** The newest response; null: none yet. */
  answer: T | null;
  /** When it came, in milliseconds since 1970. */
  receivedAt: number;
  /** Why the last request failed; "": it did not. The last response is kept. */
  error: string;
  isLoading: boolean;
  /** Sends a request now. */
  refresh: () => void;
}

/**
 * Minimum number of milliseconds between two requests, so that a loop of runs does not cause a loop
 * of requests.
 */
const requestIntervalMs = 150;

/**
 * Calls request when the element is on screen, and again after each finished run. Only one request
 * is in flight at a time; calls meanwhile are combined into one. request null means that there is
 * no kernel to ask.
 */
export function useKernelResponse<T>(
  request: (() => Promise<T>) | null,
  element: RefObject<HTMLElement | null>,
): KernelResponse<T> {
  const store = useStore();
  const visible = useVisible(element);
  const [asked, setAsked] = useState<Omit<KernelResponse<T>, "refresh">>({
    answer: null,
    receivedAt: 0,
    error: "",
    isLoading: false,
  });
  const question = useRef(request);
  question.current = request;
  const again = useRef(() => {});
  const canRequest = request !== null;
  useEffect(() => {
    if (!visible || !canRequest) return;
    const loop = requestInTurn(
      () => question.current?.() ?? Promise.reject(new Error("there is no kernel")),
      () => setAsked((before) => ({ ...before, isLoading: true })),
      (result) => setAsked((before) => ({ ...before, error: "", ...result, receivedAt: Date.now(), isLoading: false })),
    );
    again.current = loop.ask;
    loop.ask();
    const leave = onRunFinished(store.get, store.subscribe, loop.ask);
    return () => {
      leave();
      loop.stop();
    };
  }, [store, visible, canRequest]);
  return { ...asked, refresh: useCallback(() => again.current(), []) };
}

/** Runs one request at a time. Calls during a request are combined into one that follows it. */
function requestInTurn<T>(
  ask: () => Promise<T>,
  onAsk: () => void,
  onAnswer: (result: { answer: T } | { error: string }) => void,
): { ask: () => void; stop: () => void } {
  let busy = false;
  let more = false;
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const next = async () => {
    if (busy) {
      more = true;
      return;
    }
    busy = true;
    onAsk();
    const result = await ask().then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    if (stopped) return;
    onAnswer(result);
    timer = setTimeout(() => {
      busy = false;
      if (more) {
        more = false;
        next();
      }
    }, requestIntervalMs);
  };
  return {
    ask: next,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Calls f after each finished run of a cell and when the kernel was replaced. Returns a function
 * that stops this.
 */
function onRunFinished(get: () => State, subscribe: (f: () => void) => () => void, f: () => void): () => void {
  let before = get().notebook;
  return subscribe(() => {
    const now = get().notebook;
    const another = now.kernel === "running" && before.kernel !== "running";
    const changed = another || hasRunFinished(before.executions, now.executions);
    before = now;
    if (changed && now.kernel !== "dead") f();
  });
}

/** Reports whether a cell's run has finished between two states, even if it also started in between. */
function hasRunFinished(before: ExecutionsByCell, now: ExecutionsByCell): boolean {
  if (before === now) return false;
  return Object.entries(now).some(([id, run]) => {
    const old = before[id];
    return run !== old && !run.started && (old?.started || old?.sequencer !== run.sequencer);
  });
}
