import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { attemptOverText, noConnectionText, restartProblem } from "../commands/access";
import { closeHeldElsewhere } from "./connectionText";

/** Returns why neither kernel nor agent accept commands here, not even a restart; null: they do. */
export function commandProblem({ connection, commands, isOwner }: SessionSnapshot): string | null {
  const why = restartProblem({ isConnected: connection.state === "connected", isOwner: isOwner, isAttemptOver: false });
  return why ?? (commands === null ? "The session is not there yet." : null);
}

/**
 * Returns why no cell can be added; null: cells can be added. A console that holds the notebook can
 * always add cells, connected or not. over: the attempt has ended.
 */
export function addCellProblem({ connection, commands, role }: SessionSnapshot, over: boolean): string | null {
  if (connection.state !== "connected" && (role === "view" || connection.code === closeHeldElsewhere))
    return noConnectionText;
  if (role === "view" && over) return attemptOverText;
  return commands === null ? "The session is not there yet." : null;
}

/** Reports whether the server has refused this page, so that the states of kernel and agent are unknown. */
export function isHeldElsewhere({ connection }: SessionSnapshot): boolean {
  return connection.code === closeHeldElsewhere && connection.state !== "connected";
}

/** Returns why the server has refused the connection and no retry is scheduled; "": it has not. */
export function finalRefusalReason({ connection: { state, retryAt, reason } }: SessionSnapshot): string {
  return state === "disconnected" && retryAt === null ? reason : "";
}

/** Reports whether this page holds the notebook, or will after it has reconnected. */
export function isHolder({ connection, role }: SessionSnapshot): boolean {
  return role === "holder" && connection.code !== closeHeldElsewhere;
}
