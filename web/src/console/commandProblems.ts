import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { attemptOverText, noConnectionText, whyCannotRestart } from "../commands/access";
import { closeHeldElsewhere } from "./connectionText";

/** Returns why this page cannot send commands, not even a restart, to the kernel and the agent; null if it can. */
export function whyCannotSendCommands({ connection, commands, isOwner }: SessionSnapshot): string | null {
  const why = whyCannotRestart({
    isConnected: connection.state === "connected",
    isOwner: isOwner,
    isAttemptOver: false,
  });
  return why ?? (commands === null ? "The session has not started yet." : null);
}

/**
 * Returns why no cell can be added; null if cells can be added. A console that holds the notebook can
 * add cells without a connection too. over: the attempt has ended.
 */
export function whyCannotAddCell({ connection, commands, role }: SessionSnapshot, over: boolean): string | null {
  if (connection.state !== "connected" && (role === "view" || connection.code === closeHeldElsewhere))
    return noConnectionText;
  if (role === "view" && over) return attemptOverText;
  return commands === null ? "The session has not started yet." : null;
}

/** Reports whether the server has refused this page because another console holds the notebook. The states of kernel and agent are then unknown. */
export function isHeldElsewhere({ connection }: SessionSnapshot): boolean {
  return connection.code === closeHeldElsewhere && connection.state !== "connected";
}

/** Returns the server's reason for refusing the connection for good (no retry is scheduled); "" if it has not refused. */
export function finalRefusalReason({ connection: { state, retryAt, reason } }: SessionSnapshot): string {
  return state === "disconnected" && retryAt === null ? reason : "";
}

/** Reports whether this page holds the notebook, or will hold it after it has reconnected. */
export function isHolder({ connection, role }: SessionSnapshot): boolean {
  return role === "holder" && connection.code !== closeHeldElsewhere;
}
