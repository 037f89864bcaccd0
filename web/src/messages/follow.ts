import { watchTrace } from "../api/watchTrace";

/** What is heard of a trace that goes on. */
export interface Heard {
  /** Something has been added. */
  onGrowth: () => void;
  onEnd: () => void;
  /** The connection was lost; null: it is there, and something may have been missed. */
  onLost: (why: string | null) => void;
}

const batchMs = 250;

/**
 * Says that a trace grows, at most four times a second, while the page is seen.
 * path is that of its /watch with the parameters that name it; next is the seq that
 * is not known yet, when it is asked. Ends with the trace, or when what it returns
 * is called.
 */
export function followTrace(path: string, next: () => number, heard: Heard): () => void {
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const grown = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      heard.onGrowth();
    }, batchMs);
  };
  const start = () => {
    stop = watchTrace(`${path}&bodies=false`, next(), {
      onEntries: grown,
      onEnd: () => {
        ended = true;
        pause();
        heard.onGrowth();
        heard.onEnd();
      },
      onConnectionLost: heard.onLost,
    });
  };
  const pause = () => {
    clearTimeout(timer);
    timer = undefined;
    stop?.();
    stop = null;
  };
  const onVisibility = () => {
    if (ended) return;
    if (document.visibilityState === "hidden") pause();
    else if (stop === null) start();
  };
  document.addEventListener("visibilitychange", onVisibility);
  onVisibility();
  return () => {
    ended = true;
    pause();
    document.removeEventListener("visibilitychange", onVisibility);
  };
}
