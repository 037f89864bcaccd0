import { getJSON } from "../api/client";
import type { Entry } from "../protocol/messages";
import { isObject } from "../store/read";

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
const pageSize = 5000;

/** What the API says of a session, as far as the page uses it. */
export interface SessionInfo {
  state?: string;
  problem?: string;
  /** The file of its trace: another one is another session. */
  trace?: string;
  started?: string | null;
}

export function getSession(id: string, signal: AbortSignal): Promise<SessionInfo> {
  return getJSON<SessionInfo>(`/api/sessions/${encodeURIComponent(id)}`, {}, signal);
}

/** What names the session that is behind an id now; "": there is none, or that cannot be told. */
export async function traceOf(id: string): Promise<string> {
  try {
    const { trace, started } = await getSession(id, AbortSignal.timeout(5000));
    return trace || started || "";
  } catch {
    return "";
  }
}

/** The entries of the conversation of a session, from one on, page by page. */
export async function* historyOf(id: string, from: number, signal: AbortSignal): AsyncGenerator<Entry[]> {
  let next: number | null = from;
  while (next !== null) {
    const path = `/api/sessions/${encodeURIComponent(id)}/trace`;
    const query = { hop: hops, type: types, from: next, limit: pageSize };
    const page: { entries?: unknown; next?: unknown } = await getJSON(path, query, signal);
    yield Array.isArray(page.entries) ? page.entries.filter(isEntry) : [];
    next = typeof page.next === "number" && page.next > next ? page.next : null;
  }
}

/** Whether an entry carries a message; one whose message is in another entry is passed over, as that one is there too. */
function isEntry(value: unknown): value is Entry {
  return isObject(value) && typeof value.seq === "number" && typeof value.hop === "string" && isObject(value.msg);
}
