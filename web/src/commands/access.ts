// Why commands are not available, as sentences for the user.

export const noConnectionText = "There is no connection to the server.";
export const notOwnerText = "Another console owns this session.";
export const attemptOverText = "The attempt has ended. Restart the kernel or the agent to continue with its notebook.";

/** What this page may do in a session. */
export interface SessionAccess {
  isConnected: boolean;
  isOwner: boolean;
  /** Whether the attempt has ended and neither kernel nor agent was restarted since. */
  isAttemptOver: boolean;
}

/** Returns why the kernel and the agent cannot be restarted; null: they can. */
export function whyCannotRestart({ isConnected: connected, isOwner: owner }: SessionAccess): string | null {
  if (!connected) return noConnectionText;
  return owner ? null : notOwnerText;
}

/** Returns why cells cannot run and widgets cannot be set; null: they can. */
export function whyCannotRunCells(access: SessionAccess): string | null {
  return whyCannotRestart(access) ?? (access.isAttemptOver ? attemptOverText : null);
}
