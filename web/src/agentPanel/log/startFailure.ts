import type { ProcessName } from "./processLogs";

/** Which process failed and so kept a session from starting, and why. */
export interface StartFailure {
  child: ProcessName;
  /** How it failed, such as "agent exited with status 1". */
  reason: string;
}

/**
 * Reads the start failure from the server's reason for refusing a connection; null if the reason is
 * another.
 */
export function parseStartFailure(reason: string): StartFailure | null {
  const [, how = "", name] = /could not start: ((agent|kernel)\b[^;]*)/.exec(reason) ?? [];
  if (name === undefined) return null;
  return { child: name === "kernel" ? "kernel" : "agent", reason: how.trim() };
}
