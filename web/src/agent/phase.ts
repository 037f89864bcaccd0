import { ApiError } from "../api/client";
import { getSession } from "./history";
import type { Phase } from "./live";

/** How long to wait before asking again, in milliseconds. */
const pause = 1000;

const phases: readonly string[] = ["creating", "starting", "running", "stopping", "stopped"] satisfies Phase[];

export interface PhaseEvents {
  phase(phase: Phase | null): void;
  /** The server wants a token, or another one. */
  refused(): void;
  /** The session could not start. */
  problem(text: string): void;
}

/**
 * Follows where a session is, until it can be connected to: one that is starting or
 * stopping is waited for, any other starts when it is connected to. Resolves to
 * false when a token is wanted first.
 */
export async function awaitSession(id: string, events: PhaseEvents, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const phase = await look(id, events, signal);
    if (phase === "refused") return false;
    if (phase !== "starting" && phase !== "stopping") return true;
    await sleep(pause, signal);
  }
  return false;
}

/** Tells where a session is, again and again, until signal ends. */
export async function followPhase(id: string, events: PhaseEvents, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await look(id, events, signal)) === "refused") return;
    await sleep(pause, signal);
  }
}

async function look(id: string, events: PhaseEvents, signal: AbortSignal): Promise<Phase | "refused" | null> {
  try {
    const { state = "", problem = "" } = await getSession(id, signal);
    const phase = phases.includes(state) ? (state as Phase) : null;
    if (!signal.aborted) events.phase(phase);
    if (problem !== "" && !signal.aborted) events.problem(problem);
    return phase;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError) || error.status !== 401) return null;
    events.refused();
    return "refused";
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
