import type { Live } from "../agent/live";
import { held } from "./connectionWords";

const away = "There is no connection to the server.";

/** Why nothing can be run or asked here; null: it can. */
export function refusalOf({ connection, commands, sessionOwner }: Live): string | null {
  if (connection.state !== "connected") return away;
  if (!sessionOwner) return "Another console owns this session.";
  return commands === null ? "The session is not there yet." : null;
}

/** Why no cell can be added; null: it can. A holder's cells are its own, connected or not. */
export function addingRefusal({ connection, commands, role }: Live): string | null {
  if (connection.state !== "connected" && (role === "view" || connection.code === held)) return away;
  return commands === null ? "The session is not there yet." : null;
}

/** This page holds the notebook, or will when it is connected again. */
export function holds({ connection, role }: Live): boolean {
  return role === "holder" && connection.code !== held;
}
