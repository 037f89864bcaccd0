import type { Connection, ConsoleRole } from "../agent/sessionSnapshot";
import { parseStartFailure } from "../agentPanel/log/startFailure";

/** What the user can do about a lost connection: "retry" to connect, "here": use the notebook here instead of in another window, "view": open it as a view. */
export type RecoveryAction = "retry" | "here" | "view";

/** The text of the bar that is shown without a connection. */
export interface ConnectionText {
  /** A sentence that says what happened. */
  heading: string;
  /** Sentences about the reason, and what happens to the user's edits; may be "". */
  details: string;
  /** The offered action; null: the user can only wait. */
  recoveryAction: RecoveryAction | null;
}

/** WebSocket close code: a newer connection of the same console has replaced this one. */
const closeReplaced = 4001;
/** WebSocket close code: another console, or the server, holds the notebook. */
export const closeHeldElsewhere = 4009;
/** WebSocket close code: a message of this page was too large. */
const closeTooLarge = 1009;
/** WebSocket close code: the server has refused the connection, or the session could not start. */
const closeRefused = 1008;
/** WebSocket close code: the server has shut down. */
const closeServerEnded = 1001;
/** WebSocket close code: the connection was lost, and the server has sent no reason. */
const closeAbnormal = 1006;

const editsKeptUntilServerText = "Your edits are kept here and sent when the server is back.";
const editsKeptUntilConnectedText =
  "Your edits are kept here and sent when the connection is back. You will then see what the kernel and the agent have done. Until then, cells cannot run.";

/** Returns the text to show without a connection; null if there is one or the first is being opened. */
export function connectionText(connection: Connection, role: ConsoleRole): ConnectionText | null {
  const { state, code, reason, retryAt } = connection;
  if (state === "connected" || code === null) return null;
  const because = closeReasonSentence(code, reason);
  switch (code) {
    case closeReplaced:
      return {
        heading: "This console has been opened somewhere else.",
        details: "It continues there. Nothing is lost.",
        recoveryAction: "here",
      };
    case closeHeldElsewhere:
      return role === "holder"
        ? {
            heading: "Another console, or the server, holds this notebook.",
            details: `${because} If the server holds it, you can open it as a view.`.trim(),
            recoveryAction: "view",
          }
        : {
            heading: "Another console holds this notebook, so it cannot be viewed.",
            details: because,
            recoveryAction: "retry",
          };
    case closeTooLarge:
      return {
        heading: "This page has sent a message that is larger than the server accepts.",
        details: `${because} Make the cell shorter, then connect again.`.trim(),
        recoveryAction: "retry",
      };
    case closeServerEnded:
      return {
        heading: "The server has shut down.",
        details: `${because} ${editsKeptUntilServerText}`.trim(),
        recoveryAction: "retry",
      };
    case closeRefused:
      if (retryAt === null && state === "disconnected") {
        const fault = parseStartFailure(reason);
        if (fault !== null) {
          const details = `The ${fault.reason}. The log in the panel shows its last output.`;
          return { heading: "The session could not start.", details, recoveryAction: "retry" };
        }
        return { heading: "The server has refused this connection.", details: because, recoveryAction: "retry" };
      }
  }
  return {
    heading: "The connection to the server is lost.",
    details: `${because} ${editsKeptUntilConnectedText}`.trim(),
    recoveryAction: "retry",
  };
}

/** Returns the reason why a connection was closed as a sentence; "" if no reason was given. */
function closeReasonSentence(code: number, reason: string): string {
  if (reason === "") return "";
  // After an abnormal close the reason comes from the page itself, not from the server.
  if (code === closeAbnormal) return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  return `The server says: ${reason}.`;
}
