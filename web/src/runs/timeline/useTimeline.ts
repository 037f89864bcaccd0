import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { TraceSource } from "../../api/client";
import { createStore } from "../../store/store";
import { Timeline } from "./timeline";
import { initialTimelineState, type TimelineState } from "./timelineState";

/**
 * Creates a timeline with a separate store; null on the first render. The timeline loads nothing
 * before begin() is called.
 */
export function useNewTimeline({ base, watch }: TraceSource): Timeline | null {
  const [timeline, setTimeline] = useState<Timeline | null>(null);
  useEffect(() => {
    const made = new Timeline({ base, watch }, createStore());
    setTimeline(made);
    return () => made.dispose();
  }, [base, watch]);
  return timeline;
}

const TimelineContext = createContext<Timeline | null>(null);

export const TimelineProvider = TimelineContext.Provider;

export function useTimeline(): Timeline {
  const timeline = useContext(TimelineContext);
  if (timeline === null) throw new Error("no TimelineProvider above");
  return timeline;
}

/** Returns the state of a timeline, and re-renders the component when it changes. */
export function useTimelineState(timeline: Timeline | null): TimelineState {
  return useSyncExternalStore(timeline?.subscribe ?? subscribeToNothing, timeline?.get ?? getInitialState);
}

/** Returns what select reads from the state of a timeline, and re-renders the component when that changes. */
export function useTimelineSelector<T>(select: (moment: TimelineState) => T): T {
  const timeline = useTimeline();
  return useSyncExternalStore(timeline.subscribe, () => select(timeline.get()));
}

/** Reports whether a moment is after the last entry of a complete trace: nothing is in progress then. */
export function isAtEndOfTrace({ isComplete, seq, end }: TimelineState): boolean {
  return isComplete && seq >= end;
}

const subscribeToNothing = () => () => undefined;
const getInitialState = () => initialTimelineState;
