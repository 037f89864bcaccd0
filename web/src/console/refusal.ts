import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { attemptOverText, noConnectionText, restartProblem } from "../commands/access";
import { held } from "./connectionWords";

/** Why neither kernel nor agent can be told anything here, not even to begin anew; null: they can. */
export function refusalOf({ connection, commands, isOwner }: SessionSnapshot): string | null {
  const why = restartProblem({ isConnected: connection.state === "connected", isOwner: isOwner, isAttemptOver: false });
  return why ?? (commands === null ? "The session is not there yet." : null);
}

/** Why no cell can be added; null: it can. A holder's cells are its own, connected or not. over: an attempt has ended. */
export function addingRefusal({ connection, commands, role }: SessionSnapshot, over: boolean): string | null {
  if (connection.state !== "connected" && (role === "view" || connection.code === held)) return noConnectionText;
  if (role === "view" && over) return attemptOverText;
  return commands === null ? "The session is not there yet." : null;
}

/** The server has refused this page: nothing is known here of kernel and agent. */
export function isRefused({ connection }: SessionSnapshot): boolean {
  return connection.code === held && connection.state !== "connected";
}

/** Why the server has refused the connection, and will not be asked again by itself; "": it has not. */
export function refusedWith({ connection: { state, retryAt, reason } }: SessionSnapshot): string {
  return state === "disconnected" && retryAt === null ? reason : "";
}

/** This page holds the notebook, or will when it is connected again. */
export function holds({ connection, role }: SessionSnapshot): boolean {
  return role === "holder" && connection.code !== held;
}
