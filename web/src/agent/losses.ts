import type { Commands } from "../commands/commands";
import { isObject, textOf } from "../json/read";
import type { Message } from "../protocol/messages";
import type { State } from "../store/state";
import type { Core } from "./core";

/** Tells which cells were sent to be run, and were not. */
export function tellLost({ notices }: Core, cells: readonly string[]): void {
  if (cells.length === 0) return;
  const what = cells.length === 1 ? "A cell was" : `${cells.length} cells were`;
  notices.add("error", `${what} not run: the connection was lost.`);
}

/**
 * Tells what may not have come to the server, with what was asked. It is marked in the
 * conversation, and can be asked again by what ask sends; false: it was not sent.
 */
export function tellUnsent(core: Core, ask: (message: Message) => boolean): void {
  const { notices, store, words } = core;
  for (const { message } of words.take()) {
    if (message.type === "managed_process_restart") {
      const name = textOf(message.name);
      notices.add("error", `The connection was lost, and nothing shows that the ${name} was restarted.`);
      continue;
    }
    const text = `The connection was lost, and nothing shows that the agent was asked: ${shortened(textOf(message.query))}`;
    const action = { label: "Ask again", run: () => askAgain(core, message, ask) };
    notices.add("error", text, action, () => words.forget(message));
    store.update((state) => markUnsent(state, textOf(message.request_id)));
  }
}

function askAgain(core: Core, message: Message, ask: (message: Message) => boolean): void {
  if (ask({ ...message, request_id: crypto.randomUUID() })) return;
  core.words.add(message, 0);
  core.words.lost();
  tellUnsent(core, ask);
}

/** Tells how an attempt has ended of which another has taken the place, by its eval_result. */
export function tellMissed({ notices }: Core, verdict: unknown): void {
  if (!isObject(verdict) || textOf(verdict.outcome) === "") return;
  const { passed } = verdict;
  const mark = passed === true ? ", and passed" : passed === false ? ", and did not pass" : "";
  const detail = textOf(verdict.outcome_detail);
  const how = `${textOf(verdict.outcome).replaceAll("_", " ")}${mark}${detail === "" ? "" : ` (${detail})`}`;
  notices.add("info", shortened(`While this page was away the attempt at ${textOf(verdict.case_id)} ended: ${how}`));
}

/** As much of a text as a notice has room for. */
function shortened(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

function markUnsent(state: State, request: string): State {
  const conversation = state.agent.conversation.map((item) =>
    item.kind === "text" && item.query === true && item.request === request ? { ...item, label: "Not sent" } : item,
  );
  return { ...state, agent: { ...state.agent, conversation } };
}

/** Tells that what was typed into a cell could not be stored. Of a cell that is not there any more the text can be had back. */
export function tellRefused(
  { notices, store }: Core,
  commands: Commands | null,
  { id, text, why }: { id: string; text: string; why: string },
): void {
  if (store.get().notebook.cells[id] === undefined) tellDeleted({ notices, store }, commands, text);
  else notices.add("error", `What was typed could not be stored: ${why}`);
}

/** Tells of a text that was typed into a cell which is deleted, and offers it. */
export function tellDeleted(
  { notices, store }: Pick<Core, "notices" | "store">,
  commands: Commands | null,
  text: string,
  what = "A cell was deleted while you were changing it. Your text is not lost.",
): void {
  const run = () => {
    commands?.createCell(store.get().notebook.order.length, "code", text).catch((error: Error) => {
      notices.add("error", `The cell could not be made: ${error.message}`);
    });
  };
  const action = { label: "Make a cell of it", run };
  notices.add("error", text === "" ? what : `${what} It is: ${shortened(text)}`, action);
}
