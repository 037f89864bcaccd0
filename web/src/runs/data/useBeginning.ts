import { readTracePage } from "../../api/readTrace";
import { type Loaded, useLoad } from "../../api/useLoad";
import { fieldsOf, textOf } from "../../json/read";

/** What a trace says at its beginning. */
export interface Beginning {
  /** What the agent was told; "": nothing. */
  task: string;
  /** What code cells are written in. */
  language: string;
}

const first = { hop: "server>agent", type: "init,agent_query", limit: 2 };

/** Task and language of an attempt. base is its path in the API. */
export function useBeginning(base: string): Loaded<Beginning> {
  return useLoad(base, async (signal) => {
    const { entries } = await readTracePage(base, first, signal);
    const messages = entries.map((entry) => fieldsOf(entry.msg));
    return {
      task: textOf(messages.find((msg) => msg.type === "agent_query")?.query),
      language: textOf(messages.find((msg) => msg.type === "init")?.language) || "python",
    };
  });
}
