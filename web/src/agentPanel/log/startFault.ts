import type { Child } from "./printed";

/** Why a session could not start, where that is one child's fault. */
export interface StartFault {
  child: Child;
  /** How it failed, as "agent exited with status 1". */
  how: string;
}

/** What the reason says with which the server has refused a connection; null: it is another. */
export function startFault(reason: string): StartFault | null {
  const [, how = "", name] = /could not start: ((agent|kernel)\b[^;]*)/.exec(reason) ?? [];
  if (name === undefined) return null;
  return { child: name === "kernel" ? "kernel" : "agent", how: how.trim() };
}
