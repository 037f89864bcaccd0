import { textOrJSON } from "../../json/values";
import type { State } from "../../store/state";
import { endedBadly } from "../eventWords";
import type { Child } from "./printed";
import { startFault } from "./startFault";

/** Something that the last words of a child may explain. */
export interface Trouble {
  child: Child;
  /** Tells one trouble from another. */
  key: string;
}

/** Which child's fault an outcome is. */
const faults: Readonly<Record<string, Child>> = { agent_exit: "agent", agent_error: "agent", kernel_exit: "kernel" };

/**
 * A text that names the trouble, "" for none; it begins with the child. attempt: one
 * goes on, in which an agent may end when it is done. refusal: why the server has
 * refused the connection, "" if it has not.
 */
export function troubleOf(state: State, attempt: boolean, refusal: string): string {
  const { verdict, agent, notebook } = state;
  const fault = startFault(refusal);
  if (fault !== null) return `${fault.child} start`;
  if (verdict !== null) {
    const child = faultOf(textOrJSON(verdict.outcome), textOrJSON(verdict.outcome_detail));
    return child === null ? "" : `${child} verdict`;
  }
  const exit = agent.status === "gone" ? agent.conversation.findLast(isEnd) : undefined;
  if (exit?.kind === "event" && exit.event === "exit") {
    const wanted = textOrJSON(exit.metadata.signal) === "SIGTERM" || attempt;
    if (!wanted || endedBadly(exit.metadata)) return `agent ${exit.seq}`;
  }
  return notebook.kernel === "dead" ? "kernel dead" : "";
}

/** What the text of troubleOf says; null: there is none. */
export function readTrouble(key: string): Trouble | null {
  if (key === "") return null;
  return { key, child: key.startsWith("kernel") ? "kernel" : "agent" };
}

function faultOf(outcome: string, detail: string): Child | null {
  if (outcome === "setup_error") return detail.startsWith("kernel") ? "kernel" : "agent";
  return Object.hasOwn(faults, outcome) ? (faults[outcome] ?? null) : null;
}

function isEnd(item: State["agent"]["conversation"][number]): boolean {
  return item.kind === "event" && ["exit", "stopped", "restarted"].includes(item.event);
}
