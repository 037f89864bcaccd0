import { getJSON, sessionBase } from "../api/client";
import { readTrace } from "../api/readTrace";
import { isObject } from "../json/read";
import type { Entry } from "../protocol/messages";

/** The entries of a trace that a conversation is made of. */
const types = [
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
const hops = "agent>server,server>agent,console>server,session";

/** What the API says of a session, as far as the page uses it. */
export interface SessionInfo {
  state?: string;
  problem?: string;
  /** The file of its trace: another one is another session. */
  trace?: string;
  started?: string | null;
  /** The eval_result of the attempt before. */
  previous?: unknown;
}

export function getSession(id: string, signal: AbortSignal): Promise<SessionInfo> {
  return getJSON<SessionInfo>(sessionBase(id), {}, signal);
}

/** The entries of the conversation of a session, from one on, page by page. */
export async function* historyOf(id: string, from: number, signal: AbortSignal): AsyncGenerator<Entry[]> {
  for await (const page of readTrace(sessionBase(id), { hop: hops, type: types, from }, signal)) {
    yield page.filter(({ msg }) => isObject(msg)); // where the message is in another entry, that one is there too
  }
}
