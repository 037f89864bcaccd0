import { readTracePage } from "../../api/readTrace";
import { type LoadState, useLoad } from "../../api/useLoad";

/** What a trace says at its beginning. */
export interface Beginning {
  /** What the agent was told; "": nothing. */
  task: string;
  /** What code cells are written in. */
  language: string;
}

const first = { hop: "server>agent", type: "init,agent_query", limit: 2 };

/** Task and language of an attempt. base is its path in the API. */
export function useBeginning(base: string): LoadState<Beginning> {
  return useLoad(base, async (signal) => {
    const { entries } = await readTracePage(base, first, signal);
    const beginning = { task: "", language: "python" };
    for (const { msg } of entries) {
      if (msg?.type === "agent_query") beginning.task ||= msg.query;
      if (msg?.type === "init") beginning.language = msg.language || beginning.language;
    }
    return beginning;
  });
}
