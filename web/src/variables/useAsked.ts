import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { State } from "../store/state";
import { useStore } from "../store/store";
import { useVisible } from "./useVisible";

type Executions = State["notebook"]["executions"];

export interface Asked<T> {
  /** The newest answer; null: there is none yet. */
  answer: T | null;
  /** When it came, in milliseconds as of Date.now(). */
  at: number;
  /** Why the last question failed; "": it did not. What was known stays. */
  error: string;
  asking: boolean;
  /** Asks again now. */
  again: () => void;
}

const pause = 150; // milliseconds between two questions, so that a loop of runs is not one of questions

/**
 * What ask resolves to: asked when place is on screen, and again after each run that
 * has ended. One question is under way at most, and what changes meanwhile is asked
 * for once it is answered. ask null: there is nobody to ask.
 */
export function useAsked<T>(ask: (() => Promise<T>) | null, place: RefObject<HTMLElement | null>): Asked<T> {
  const store = useStore();
  const visible = useVisible(place);
  const [asked, setAsked] = useState<Omit<Asked<T>, "again">>({ answer: null, at: 0, error: "", asking: false });
  const question = useRef(ask);
  question.current = ask;
  const again = useRef(() => {});
  const can = ask !== null;
  useEffect(() => {
    if (!visible || !can) return;
    const loop = askInTurn(
      () => question.current?.() ?? Promise.reject(new Error("there is nobody to ask")),
      () => setAsked((before) => ({ ...before, asking: true })),
      (result) => setAsked((before) => ({ ...before, error: "", ...result, at: Date.now(), asking: false })),
    );
    again.current = loop.ask;
    loop.ask();
    const leave = onFinished(store.get, store.subscribe, loop.ask);
    return () => {
      leave();
      loop.stop();
    };
  }, [store, visible, can]);
  return { ...asked, again: useCallback(() => again.current(), []) };
}

/** Asks one question at a time; those that come while one is under way are one. */
function askInTurn<T>(
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
    }, pause);
  };
  return {
    ask: next,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Calls f after each run that has ended, and when there is another kernel. */
function onFinished(get: () => State, subscribe: (f: () => void) => () => void, f: () => void): () => void {
  let before = get().notebook;
  return subscribe(() => {
    const now = get().notebook;
    const another = now.kernel === "running" && before.kernel !== "running";
    const changed = another || hasFinished(before.executions, now.executions);
    before = now;
    if (changed && now.kernel !== "dead") f();
  });
}

/** Whether a run has ended between two states; it may have begun between them too. */
function hasFinished(before: Executions, now: Executions): boolean {
  if (before === now) return false;
  return Object.entries(now).some(([id, run]) => {
    const old = before[id];
    return run !== old && !run.started && (old?.started || old?.sequencer !== run.sequencer);
  });
}
