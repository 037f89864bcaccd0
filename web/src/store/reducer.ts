import type { Entry, NotebookStateMessage } from "../protocol/messages";
import type { State } from "./state";

/** What is known before anything was said. */
export const initial: State = {
  notebook: { seq: 0, order: [], cells: {}, runs: {}, queue: [], kernel: "unknown" },
  agent: { status: "starting", conversation: [], stream: null, usage: null, request: null },
  verdict: null,
};

/** The state after one more entry. */
export function reduce(state: State, _entry: Entry): State {
  return state;
}

/** The state when another notebook has taken the place of the one there was. */
export function restore(state: State, _message: NotebookStateMessage): State {
  return state;
}
