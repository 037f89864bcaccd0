import type { Live } from "../agent/live";
import { attemptOver, noConnection, whyNotRestart } from "../commands/whyNot";
import { held } from "./connectionWords";

/** Why neither kernel nor agent can be told anything here, not even to begin anew; null: they can. */
export function refusalOf({ connection, commands, sessionOwner }: Live): string | null {
  const why = whyNotRestart({ connected: connection.state === "connected", owner: sessionOwner, over: false });
  return why ?? (commands === null ? "The session is not there yet." : null);
}

/** Why no cell can be added; null: it can. A holder's cells are its own, connected or not. over: an attempt has ended. */
export function addingRefusal({ connection, commands, role }: Live, over: boolean): string | null {
  if (connection.state !== "connected" && (role === "view" || connection.code === held)) return noConnection;
  if (role === "view" && over) return attemptOver;
  return commands === null ? "The session is not there yet." : null;
}

/** The server has refused this page: nothing is known here of kernel and agent. */
export function isRefused({ connection }: Live): boolean {
  return connection.code === held && connection.state !== "connected";
}

/** Why the server has refused the connection, and will not be asked again by itself; "": it has not. */
export function refusedWith({ connection: { state, retryAt, reason } }: Live): string {
  return state === "disconnected" && retryAt === null ? reason : "";
}

/** This page holds the notebook, or will when it is connected again. */
export function holds({ connection, role }: Live): boolean {
  return role === "holder" && connection.code !== held;
}
