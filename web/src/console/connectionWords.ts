import type { Connection, Role } from "../agent/sessionSnapshot";
import { parseStartFailure } from "../agentPanel/log/startFailure";

/** What the user can do without a connection: retry, take over the notebook here, or open it as a view. */
export type WayOut = "retry" | "here" | "view";

/** The text of the bar that is shown without a connection. */
export interface ConnectionWords {
  /** What happened. */
  what: string;
  /** What is lost and what is kept. */
  more: string;
  /** null: nothing but wait. */
  wayOut: WayOut | null;
}

/** Close code: a newer connection of the same console has replaced this one. */
const replaced = 4001;
/** Close code: another console holds the notebook. */
export const held = 4009;
const tooLarge = 1009;
const refused = 1008;
const going = 1001;
const abnormal = 1006;

const keptHere = "What you type is kept here and sent when the server is there again.";
const kept =
  "What you type is kept here and sent when the connection is back. What kernel and agent do meanwhile is shown then. Cells cannot be run until then.";

/** Returns the text to show without a connection; null if there is one or the first is being opened. */
export function connectionWords(connection: Connection, role: Role): ConnectionWords | null {
  const { state, code, reason, retryAt } = connection;
  if (state === "connected" || code === null) return null;
  const because = becauseOf(code, reason);
  switch (code) {
    case replaced:
      return {
        what: "This console has been opened somewhere else.",
        more: "It goes on there. Nothing is lost.",
        wayOut: "here",
      };
    case held:
      return role === "holder"
        ? {
            what: "Somebody else holds this notebook.",
            more: `${because} One that the server holds can be viewed.`.trim(),
            wayOut: "view",
          }
        : { what: "Another console holds this notebook, so it cannot be viewed.", more: because, wayOut: "retry" };
    case tooLarge:
      return {
        what: "Something that this page sent was larger than the server takes.",
        more: `${because} Make the cell shorter, then connect again.`.trim(),
        wayOut: "retry",
      };
    case going:
      return { what: "The server has ended.", more: `${because} ${keptHere}`.trim(), wayOut: "retry" };
    case refused:
      if (retryAt === null && state === "disconnected") {
        const fault = parseStartFailure(reason);
        if (fault !== null) {
          const more = `The ${fault.reason}. Its last words are in the log of the panel.`;
          return { what: "The session could not start.", more, wayOut: "retry" };
        }
        return { what: "The server has refused this connection.", more: because, wayOut: "retry" };
      }
  }
  return { what: "The connection to the server is lost.", more: `${because} ${kept}`.trim(), wayOut: "retry" };
}

/** Returns the reason as a sentence; "" if it is not known. */
function becauseOf(code: number, reason: string): string {
  if (reason === "") return "";
  // After an abnormal close the reason comes from the page itself, not from the server.
  if (code === abnormal) return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  return `The server says: ${reason}.`;
}
