import type { Commands } from "../commands/commands";
import type { OutgoingMessage } from "../protocol/messages";
import type { EvalResultMessage } from "../protocol/wire.gen";
import type { State } from "../store/state";
import type { SessionServices } from "./sessionServices";
import type { SentQuery } from "./unconfirmedMessages";

/** Shows a notice about cells that were sent to the kernel and did not run. */
export function reportCellsNotRun({ notices }: SessionServices, cells: readonly string[]): void {
  if (cells.length === 0) return;
  const what = cells.length === 1 ? "A cell was" : `${cells.length} cells were`;
  notices.add("error", `${what} not run: the connection was lost.`);
}

/**
 * Shows a notice about sent messages that may not have arrived. A query is also marked in the
 * conversation; the user can send it again with send, which returns false if there is no
 * connection.
 */
export function reportUnconfirmedMessages(
  services: SessionServices,
  send: (message: OutgoingMessage) => boolean,
): void {
  const { notices, store, unconfirmed } = services;
  for (const { message } of unconfirmed.takeInDoubt()) {
    if (message.type === "managed_process_restart") {
      notices.add("error", `The connection was lost, and it is unknown whether the ${message.name} was restarted.`);
      continue;
    }
    const text = `The connection was lost, and it is unknown whether the agent received: ${shortenForNotice(message.query)}`;
    const action = { label: "Send again", run: () => sendQueryAgain(services, message, send) };
    notices.add("error", text, action, () => unconfirmed.dismiss(message));
    store.update((state) => markQueryNotSent(state, message.request_id));
  }
}

function sendQueryAgain(
  services: SessionServices,
  message: SentQuery,
  send: (message: OutgoingMessage) => boolean,
): void {
  if (send({ ...message, request_id: crypto.randomUUID() })) return;
  services.unconfirmed.add(message, 0);
  services.unconfirmed.handleDisconnect();
  reportUnconfirmedMessages(services, send);
}

/** Shows a notice about how an attempt ended that another attempt has replaced, from its eval_result. */
export function reportMissedVerdict({ notices }: SessionServices, verdict: EvalResultMessage): void {
  const { outcome, outcome_detail: detail, passed, case_id } = verdict;
  if (outcome === "") return;
  const verdictText = passed === true ? ", and passed" : passed === false ? ", and did not pass" : "";
  const result = `${outcome.replaceAll("_", " ")}${verdictText}${detail === "" ? "" : ` (${detail})`}`;
  notices.add("info", shortenForNotice(`While this page was disconnected, the attempt at ${case_id} ended: ${result}`));
}

/** Shortens a text to the length of a notice. */
function shortenForNotice(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

function markQueryNotSent(state: State, request: string): State {
  const conversation = state.agent.conversation.map((item) =>
    item.kind === "text" && item.query === true && item.request === request ? { ...item, label: "Not sent" } : item,
  );
  return { ...state, agent: { ...state.agent, conversation } };
}

/**
 * Shows a notice that the text typed into a cell could not be stored. If the cell was deleted, the
 * notice offers the text.
 */
export function reportRefusedEdit(
  { notices, store }: SessionServices,
  commands: Commands | null,
  { id, text, why }: { id: string; text: string; why: string },
): void {
  if (store.get().notebook.cells[id] === undefined) offerTextOfDeletedCell({ notices, store }, commands, text);
  else notices.add("error", `What was typed could not be stored: ${why}`);
}

/** Shows a notice that offers the text that was typed into a deleted cell. */
export function offerTextOfDeletedCell(
  { notices, store }: Pick<SessionServices, "notices" | "store">,
  commands: Commands | null,
  text: string,
  what = "A cell was deleted while you were changing it. Your text is not lost.",
): void {
  const run = () => {
    commands?.createCell(store.get().notebook.order.length, "code", text).catch((error: Error) => {
      notices.add("error", `The cell could not be created: ${error.message}`);
    });
  };
  const action = { label: "Make a cell of it", run };
  notices.add("error", text === "" ? what : `${what} It is: ${shortenForNotice(text)}`, action);
}
