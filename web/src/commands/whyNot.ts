// Why something cannot be done in a session, in words for people.

export const noConnection = "There is no connection to the server.";
export const notOwner = "Another console owns this session.";
export const attemptOver = "The attempt has ended. Restart the kernel or the agent to go on with its notebook.";

/** What a session is for a page. */
export interface Standing {
  connected: boolean;
  owner: boolean;
  /** An attempt has ended, and nothing has begun since. */
  over: boolean;
}

/** Why neither kernel nor agent can be restarted; null: they can. */
export function whyNotRestart({ connected, owner }: Standing): string | null {
  if (!connected) return noConnection;
  return owner ? null : notOwner;
}

/** Why no cell can be run and no widget set; null: they can. */
export function whyNotRun(standing: Standing): string | null {
  return whyNotRestart(standing) ?? (standing.over ? attemptOver : null);
}
