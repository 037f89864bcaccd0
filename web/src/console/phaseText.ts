import type { Phase } from "../agent/sessionSnapshot";

const phaseTexts: Readonly<Record<Phase, string>> = {
  creating: "The session is being made",
  starting: "Kernel and agent are starting",
  running: "The session runs",
  stopping: "The session is ending",
  stopped: "The session has ended",
};

/** Describes the phase of a session. */
export function phaseText(phase: Phase): string {
  return phaseTexts[phase];
}
