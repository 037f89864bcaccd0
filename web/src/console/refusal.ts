import type { Live } from "../agent/live";

/** Why nothing can be run or asked here; null: it can. */
export function refusalOf({ connection, commands, sessionOwner }: Live): string | null {
  if (connection.state !== "connected") return "There is no connection to the server.";
  if (!sessionOwner) return "Another console owns this session.";
  return commands === null ? "The session is not there yet." : null;
}
