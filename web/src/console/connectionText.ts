import type { Connection, Role } from "../agent/sessionSnapshot";
import { parseStartFailure } from "../agentPanel/log/startFailure";

/** What the user can do without a connection: retry, take over the notebook here, or open it as a view. */
export type RecoveryAction = "retry" | "here" | "view";

/** The text of the bar that is shown without a connection. */
export interface ConnectionText {
  /** What happened. */
  heading: string;
  /** What is lost and what is kept. */
  details: string;
  /** null: nothing but wait. */
  recoveryAction: RecoveryAction | null;
}

/** Close code: a newer connection of the same console has replaced this one. */
const closeReplaced = 4001;
/** Close code: another console holds the notebook. */
export const closeHeldElsewhere = 4009;
const closeTooLarge = 1009;
const closeRefused = 1008;
const closeServerEnded = 1001;
const closeAbnormal = 1006;

const keptUntilServerText = "What you type is kept here and sent when the server is there again.";
const keptUntilConnectedText =
  "What you type is kept here and sent when the connection is back. What kernel and agent do meanwhile is shown then. Cells cannot be run until then.";

/** Returns the text to show without a connection; null if there is one or the first is being opened. */
export function connectionText(connection: Connection, role: Role): ConnectionText | null {
  const { state, code, reason, retryAt } = connection;
  if (state === "connected" || code === null) return null;
  const because = reasonSentence(code, reason);
  switch (code) {
    case closeReplaced:
      return {
        heading: "This console has been opened somewhere else.",
        details: "It goes on there. Nothing is lost.",
        recoveryAction: "here",
      };
    case closeHeldElsewhere:
      return role === "holder"
        ? {
            heading: "Somebody else holds this notebook.",
            details: `${because} One that the server holds can be viewed.`.trim(),
            recoveryAction: "view",
          }
        : {
            heading: "Another console holds this notebook, so it cannot be viewed.",
            details: because,
            recoveryAction: "retry",
          };
    case closeTooLarge:
      return {
        heading: "Something that this page sent was larger than the server takes.",
        details: `${because} Make the cell shorter, then connect again.`.trim(),
        recoveryAction: "retry",
      };
    case closeServerEnded:
      return {
        heading: "The server has ended.",
        details: `${because} ${keptUntilServerText}`.trim(),
        recoveryAction: "retry",
      };
    case closeRefused:
      if (retryAt === null && state === "disconnected") {
        const fault = parseStartFailure(reason);
        if (fault !== null) {
          const details = `The ${fault.reason}. Its last words are in the log of the panel.`;
          return { heading: "The session could not start.", details, recoveryAction: "retry" };
        }
        return { heading: "The server has refused this connection.", details: because, recoveryAction: "retry" };
      }
  }
  return {
    heading: "The connection to the server is lost.",
    details: `${because} ${keptUntilConnectedText}`.trim(),
    recoveryAction: "retry",
  };
}

/** Returns the reason as a sentence; "" if it is not known. */
function reasonSentence(code: number, reason: string): string {
  if (reason === "") return "";
  // After an abnormal close the reason comes from the page itself, not from the server.
  if (code === closeAbnormal) return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  return `The server says: ${reason}.`;
}
