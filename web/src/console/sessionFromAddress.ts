import type { Role } from "../agent/sessionSnapshot";
import type { Config } from "../api/config";

/** Returns the session and the role that the page's address names with ?session= and ?role=. */
export function sessionFromAddress(search: string, config: Config): { id: string; role: Role } {
  const query = new URLSearchParams(search);
  const role = query.get("role");
  return {
    id: query.get("session") || config.default_session,
    role: role === "holder" || role === "view" ? role : config.console_role === "holder" ? "holder" : "view",
  };
}
