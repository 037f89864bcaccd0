import { getJSON, sessionApiPath } from "../api/client";
import { readTrace } from "../api/readTrace";
import type { Entry } from "../protocol/messages";
import { type SessionDetail, sessionDetailSchema } from "../protocol/session.gen";

/** Types of the trace entries that make up a conversation. */
const conversationTypes = [
  "agent_status",
  "agent_history_updated",
  "agent_event",
  "agent_error",
  "agent_result",
  "agent_usage_update",
  "agent_query",
  "agent_clear_history",
  "managed_process_exit",
  "managed_process_restart",
].join(",");
const conversationHops = "agent>server,server>agent,console>server,session";

/** Loads the API's description of a session. Rejects if the request fails. */
export function loadSessionDetail(id: string, signal: AbortSignal): Promise<SessionDetail> {
  return getJSON(sessionApiPath(id), sessionDetailSchema, {}, signal);
}

/** Yields the entries of a session's conversation from entry number `from` on, page by page. */
export async function* readConversation(id: string, from: number, signal: AbortSignal): AsyncGenerator<Entry[]> {
  for await (const page of readTrace(
    sessionApiPath(id),
    { hop: conversationHops, type: conversationTypes, from },
    signal,
  )) {
    yield page.filter(({ msg }) => msg !== null); // an entry without a message refers to one that is here too
  }
}
