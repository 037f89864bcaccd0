import { useEffect } from "react";
import type { ConnectionState } from "../agent/sessionSnapshot";
import { passedOrFailedLabel } from "../agentPanel/outcome";
import { describeStatus } from "../agentPanel/statusDescription";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import { kernelState } from "./kernelState";

/**
 * Sets the title of the browser tab to the most important state of the session: connection, verdict, kernel or
 * agent; else its id. The state of an agent that is a person is left out.
 */
export function useTabTitle(session: string, connection: ConnectionState, isPerson: boolean): void {
  const state = useSelect((all) => tabTitleStateText(all, isPerson));
  const title = connection === "disconnected" ? "○ disconnected" : state || session;
  useEffect(() => {
    document.title = `${title} – Assay`;
  }, [title]);
}

/** Returns the verdict, or what the kernel or the agent is doing, as a short text; "" if both are idle, or the agent is a person. */
export function tabTitleStateText(state: State, isPerson = false): string {
  if (state.verdict !== null) return passedOrFailedLabel(state.verdict).label.toLowerCase();
  if (kernelState(state) === "dead") return "○ kernel dead";
  const agent = describeStatus(state.agent.status);
  if (!isPerson && (agent.busy || agent.tone === "warn")) return `● agent ${agent.text.toLowerCase()}`;
  return kernelState(state) === "running" ? "● running" : "";
}
