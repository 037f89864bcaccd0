import { watchTrace } from "../api/watchTrace";

/** Callbacks about a trace that is still being written. */
export interface TraceGrowthEvents {
  /** Entries were added. */
  onGrowth: () => void;
  onEnd: () => void;
  /**
   * Called with the reason when the connection is lost; with null when it is open again and entries
   * may have been missed.
   */
  onLost: (why: string | null) => void;
}

/** How many milliseconds growth of the trace is collected before it is reported. */
const growthReportIntervalMs = 250;

/**
 * Reports growth of a trace at most four times a second, and only while the page is visible. path
 * is the trace's /watch path with parameters; next returns the first entry number that is not
 * loaded yet. Stops when the trace ends or the returned function is called.
 */
export function followTrace(path: string, next: () => number, heard: TraceGrowthEvents): () => void {
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const grown = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      heard.onGrowth();
    }, growthReportIntervalMs);
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
