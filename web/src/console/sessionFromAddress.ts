import type { ConsoleRole } from "../agent/sessionSnapshot";
import type { Config } from "../api/config";

/** Returns the session id and the role in the query of the page's address (?session= and ?role=); for those that are absent or invalid, the defaults of the config. */
export function sessionFromAddress(search: string, config: Config): { id: string; role: ConsoleRole } {
  const query = new URLSearchParams(search);
  const role = query.get("role");
  return {
    id: query.get("session") || config.default_session,
    role: role === "holder" || role === "view" ? role : config.console_role === "holder" ? "holder" : "view",
  };
}
