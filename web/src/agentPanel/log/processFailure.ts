import { number } from "../../json/schema";
import { textOrJSON } from "../../json/values";
import type { State } from "../../store/state";
import type { ProcessName } from "./processLogs";
import { parseStartFailure } from "./startFailure";

/** A failed process whose last log lines may explain the failure. */
export interface ProcessFailure {
  child: ProcessName;
  /** Identifies this failure. */
  key: string;
}

/** Returns which process caused an attempt's outcome; null if none did. */
const failedProcessByOutcome: Readonly<Record<string, ProcessName>> = {
  agent_exit: "agent",
  agent_error: "agent",
  kernel_exit: "kernel",
};

/**
 * Returns a key that identifies the current process failure and begins with the name of the
 * process; "" if there is none. During an attempt (inAttempt) a clean exit of the agent is not a
 * failure. refusal is the server's reason for refusing the connection; "" if it did not refuse.
 */
export function processFailureKey(state: State, inAttempt: boolean, refusal: string): string {
  const { verdict, agent, notebook } = state;
  const startFailure = parseStartFailure(refusal);
  if (startFailure !== null) return `${startFailure.child} start`;
  if (verdict !== null) {
    const child = processOfOutcome(textOrJSON(verdict.outcome), textOrJSON(verdict.outcome_detail));
    return child === null ? "" : `${child} verdict`;
  }
  const exit = agent.status === "gone" ? agent.conversation.findLast(isAgentExit) : undefined;
  if (exit?.kind === "event" && exit.event === "exit") {
    const isExpected = textOrJSON(exit.metadata.signal) === "SIGTERM" || inAttempt;
    if (!isExpected || isFailedExit(exit.metadata)) return `agent ${exit.seq}`;
  }
  return notebook.kernel === "dead" ? "kernel dead" : "";
}

/** Parses a key of processFailureKey; null if the key is "". */
export function parseFailureKey(key: string): ProcessFailure | null {
  if (key === "") return null;
  return { key, child: key.startsWith("kernel") ? "kernel" : "agent" };
}

function processOfOutcome(outcome: string, detail: string): ProcessName | null {
  if (outcome === "setup_error") return detail.startsWith("kernel") ? "kernel" : "agent";
  return Object.hasOwn(failedProcessByOutcome, outcome) ? (failedProcessByOutcome[outcome] ?? null) : null;
}

function isAgentExit(item: State["agent"]["conversation"][number]): boolean {
  return item.kind === "event" && ["exit", "stopped", "restarted"].includes(item.event);
}

/**
 * Reports whether an exit was a failure: a non-zero status or a signal other than SIGTERM, with
 * which the server stops agents that are no longer needed.
 */
export function isFailedExit(fields: Readonly<Record<string, unknown>>): boolean {
  const signal = textOrJSON(fields.signal);
  if (signal === "SIGTERM") return false;
  return signal !== "" || (number.parse(fields.exit_code) ?? 0) !== 0;
}
