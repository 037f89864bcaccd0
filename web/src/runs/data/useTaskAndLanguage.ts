import { readTracePage } from "../../api/readTrace";
import { type LoadState, useLoad } from "../../api/useLoad";

/** The task of an attempt and the language of its code cells. */
export interface TaskAndLanguage {
  /** The first query to the agent; "": none. */
  task: string;
  /** Language of the kernel, such as "python". */
  language: string;
}

/** Query parameters that select the entries with the language (init) and the task (agent_query). */
const openingMessagesQuery = { hop: "server>agent", type: "init,agent_query", limit: 2 };

/**
 * Loads the task and the language of an attempt from the first entries of its trace. base is the
 * attempt's path in the API.
 */
export function useTaskAndLanguage(base: string): LoadState<TaskAndLanguage> {
  return useLoad(base, async (signal) => {
    const { entries } = await readTracePage(base, openingMessagesQuery, signal);
    const beginning = { task: "", language: "python" };
    for (const { msg } of entries) {
      if (msg?.type === "agent_query") beginning.task ||= msg.query;
      if (msg?.type === "init") beginning.language = msg.language || beginning.language;
    }
    return beginning;
  });
}
