import { useEffect } from "react";
import type { ConnectionState } from "../agent/sessionSnapshot";
import { passedOrFailedLabel } from "../agentPanel/outcome";
import { describeStatus } from "../agentPanel/statusDescription";
import type { State } from "../store/state";
import { useSelect } from "../store/store";
import { kernelState } from "./kernelState";

/** Sets the title of the browser tab to the most important state of the session: connection, verdict, kernel or agent; else its id. */
export function useTabTitle(session: string, connection: ConnectionState): void {
  const state = useSelect(tabTitleStateText);
  const title = connection === "disconnected" ? "○ disconnected" : state || session;
  useEffect(() => {
    document.title = `${title} – Assay`;
  }, [title]);
}

/** Returns the verdict, or what the kernel or the agent is doing, as a short text; "" if both are idle. */
export function tabTitleStateText(state: State): string {
  if (state.verdict !== null) return passedOrFailedLabel(state.verdict).label.toLowerCase();
  if (kernelState(state) === "dead") return "○ kernel dead";
  const agent = describeStatus(state.agent.status);
  if (agent.busy || agent.tone === "warn") return `● agent ${agent.text.toLowerCase()}`;
  return kernelState(state) === "running" ? "● running" : "";
}
