import type { SessionPhase } from "../agent/sessionSnapshot";

const sessionPhaseTexts: Readonly<Record<SessionPhase, string>> = {
  creating: "Creating the session",
  starting: "Starting the kernel and the agent",
  running: "The session is running",
  stopping: "The session is ending",
  stopped: "The session has ended",
};

/** Returns a short description of a session's phase, without a final period. */
export function phaseText(phase: SessionPhase): string {
  return sessionPhaseTexts[phase];
}
