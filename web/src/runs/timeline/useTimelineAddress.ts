import { useEffect } from "react";
import { navigate } from "wouter/use-browser-location";
import type { Timeline } from "./timeline";

/** Delay in milliseconds before the page's address is updated: browsers limit the number of changes. */
const addressDelayMs = 250;

/** Returns the entry number in the parameter seq of the page's address; null if it is missing or invalid. */
export function seqInAddress(): number | null {
  const seq = Number(new URLSearchParams(window.location.search).get("seq") ?? "");
  return Number.isSafeInteger(seq) && seq > 0 ? seq : null;
}

/**
 * Keeps the parameter seq of the page's address at the timeline's entry; removes it at the end of
 * the trace.
 */
export function useTimelineAddress(timeline: Timeline): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => writeSeqToAddress(timeline), addressDelayMs);
    };
    later();
    const stop = timeline.subscribe(later);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [timeline]);
}

function writeSeqToAddress(timeline: Timeline): void {
  const { seq, end, isLoading, mode } = timeline.get();
  if (isLoading || end === 0 || mode === "playing") return;
  const wanted = seq < end && mode !== "live" && seq > 0 ? seq : null;
  if (wanted === seqInAddress()) return;
  const parameters = new URLSearchParams(window.location.search);
  if (wanted === null) parameters.delete("seq");
  else parameters.set("seq", String(wanted));
  const { pathname } = window.location;
  navigate(parameters.size > 0 ? `${pathname}?${parameters}` : pathname, { replace: true });
}
