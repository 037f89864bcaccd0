import { textOf } from "../json/read";
import type { CellType, Message } from "../protocol/messages";
import type { Cell, State } from "../store/state";
import { byteLength } from "../store/utf8";
import { contextOf } from "./context";
import { ActionError, Reader } from "./reader";

/** Bytes that the sources of a notebook may have together. */
const sourcesLimit = 8 << 20;

/** What the holder of a notebook must know to act on it. */
export interface Desk {
  language: string;
  /** Makes the id of a cell. */
  newId(): string;
}

/** What an action does. */
export interface Outcome {
  /** notebook_events, for the reducer. */
  events: readonly Message[];
  /** The fields of the answer beside type, tx_id and status. */
  fields: Readonly<Record<string, unknown>>;
  /** What is sent to /run behind the answer. */
  run: readonly Message[];
}

export interface Answered {
  events: readonly Message[];
  /** null: no answer is wanted. */
  response: Message | null;
  run: readonly Message[];
}

/** Carries out an agent_action on a notebook. One that cannot be done is answered with an error, and changes nothing. */
export function handleAgentAction(state: State, message: Message, desk: Desk): Answered {
  const tx = textOf(message.tx_id);
  const answer = (status: string, fields: Readonly<Record<string, unknown>>): Message | null =>
    tx === "" ? null : { type: "agent_action_response", tx_id: tx, status, ...fields };
  try {
    const { events, fields, run } = perform(state, message, desk);
    return { events, run, response: answer("success", fields) };
  } catch (error) {
    const action = textOf(message.action);
    const text = `${action === "" ? "" : `${action}: `}${error instanceof Error ? error.message : String(error)}`;
    const more = error instanceof ActionError ? error.more : {};
    return { events: [], run: [], response: answer("error", { error: text, ...more }) };
  }
}

/** What an action does; an ActionError says why it cannot be done. */
export function perform(state: State, message: Message, desk: Desk): Outcome {
  const fields = new Reader(message);
  const action = fields.id("action");
  const params = new Reader(fields.optionalObject("params"));
  switch (action) {
    case "get_context":
      return { ...nothing, fields: { context: contextOf(state, desk.language) } };
    case "create_cell":
      return createCell(state, params, desk);
    case "create_markdown_cell":
      return createMarkdownCell(state, params, desk);
    case "edit_cell":
      return editCell(state, params);
    case "delete_cell":
      return deleteCell(state, params);
    case "move_cell":
      return moveCell(state, params);
    case "run_cell":
      return runCell(state, params);
    case "stop_cell":
      return stopCell(state, params);
    case "set_widget":
      return setWidget(state, params);
    default:
      throw new ActionError("unknown action");
  }
}

const nothing: Outcome = { events: [], fields: {}, run: [] };

function createCell(state: State, params: Reader, desk: Desk): Outcome {
  const position = params.integer("position");
  const type = params.oneOf<CellType>("cell_type", "code", "markdown");
  const source = params.text("source");
  const title = params.optionalText("title");
  const run = params.flag("auto_run");
  if (run && type === "markdown") throw autoRunError();
  const id = desk.newId();
  const events = [created(state, { id, type, source, title, rev: 1 }, position)];
  return { events, fields: { cell_id: id, tf_id: id }, run: run ? [runOf(id, source)] : [] };
}

function createMarkdownCell(state: State, params: Reader, desk: Desk): Outcome {
  const position = params.integer("position");
  const source = params.text("source");
  const id = desk.newId();
  const events = [created(state, { id, type: "markdown", source, title: "", rev: 1 }, position)];
  return { events, fields: { cell_id: id }, run: [] };
}

function created(state: State, cell: Cell, position: number): Message {
  admit(state, cell.source, 0);
  const count = state.notebook.order.length;
  if (position < 0 || position > count) {
    throw new ActionError(`position: expected an integer from 0 to ${count}, the number of cells, found ${position}`);
  }
  const { id, type, source, title, rev } = cell;
  const wire = { cell_id: id, cell_type: type, source, display_name: title, rev };
  return { type: "notebook_event", event: "cell_created", cell: wire, position };
}

function editCell(state: State, params: Reader): Outcome {
  const id = params.id("cell_id");
  const source = params.text("source");
  const run = params.flag("auto_run");
  const rev = params.has("rev") ? params.integer("rev") : null;
  const cell = find(state, id);
  if (rev !== null && rev !== cell.rev) {
    const text = `rev: expected ${cell.rev}, found ${rev}: this answer has the source of rev ${cell.rev}`;
    throw new ActionError(text, { source: cell.source, rev: cell.rev });
  }
  if (run && cell.type === "markdown") throw autoRunError();
  admit(state, source, byteLength(cell.source));
  const edited: Message = { type: "notebook_event", event: "cell_edited", cell_id: id, source, rev: cell.rev + 1 };
  const events = source === cell.source ? [] : [edited];
  return { events, fields: { cell_id: id }, run: run ? [runOf(id, source)] : [] };
}

function deleteCell(state: State, params: Reader): Outcome {
  const cell = find(state, params.id("cell_id"));
  const left = state.notebook.order.filter((id) => id !== cell.id);
  const remaining = left.map((id, index) => ({ index, cell_type: state.notebook.cells[id]?.type, cell_id: id }));
  return {
    events: [{ type: "notebook_event", event: "cell_deleted", cell_id: cell.id }],
    fields: { cell_count: left.length, remaining_cells: remaining },
    run: cell.type === "code" ? [{ type: "dispose_cell", cell_id: cell.id }] : [],
  };
}

function moveCell(state: State, params: Reader): Outcome {
  const id = params.id("cell_id");
  const position = params.integer("position");
  find(state, id);
  const { order } = state.notebook;
  if (position < 0 || position >= order.length) {
    throw new ActionError(
      `position: expected an integer from 0 to ${order.length - 1}, the last place, found ${position}`,
    );
  }
  const moved: Message = { type: "notebook_event", event: "cell_moved", cell_id: id, position };
  return { events: order[position] === id ? [] : [moved], fields: { cell_id: id }, run: [] };
}

function runCell(state: State, params: Reader): Outcome {
  const cell = runnable(state, params);
  return { events: [], fields: { cell_id: cell.id }, run: [runOf(cell.id, cell.source)] };
}

function stopCell(state: State, params: Reader): Outcome {
  const { id } = runnable(state, params);
  return { events: [], fields: { cell_id: id }, run: [{ type: "stop_cell", cell_id: id }] };
}

function setWidget(state: State, params: Reader): Outcome {
  const key = params.id("key");
  const value = params.text("value");
  if (!isJSON(value)) params.complain("value", "a string of JSON");
  const known = Object.values(state.notebook.runs).some((run) => Object.hasOwn(run.widgets, key));
  if (!known) params.complain("key", "the key of a widget");
  return { events: [], fields: { key }, run: [{ type: "set_widget_value", data: { [key]: value } }] };
}

function find(state: State, id: string): Cell {
  const { cells } = state.notebook;
  const cell = Object.hasOwn(cells, id) ? cells[id] : undefined;
  if (cell === undefined) throw new ActionError(`cell_id: expected the id of a cell, found ${JSON.stringify(id)}`);
  return cell;
}

function runnable(state: State, params: Reader): Cell {
  const cell = find(state, params.id("cell_id"));
  if (cell.type === "code") return cell;
  const name = JSON.stringify(cell.id);
  throw new ActionError(`cell_id: expected a code cell, found ${name}, a markdown cell, which does not run`);
}

/** Refuses a source, in the place of one of so many bytes, for which there is no room. */
function admit(state: State, source: string, replaced: number): void {
  let size = byteLength(source) - replaced;
  for (const cell of Object.values(state.notebook.cells)) size += byteLength(cell.source);
  if (size <= sourcesLimit) return;
  throw new ActionError(`source: expected at most ${sourcesLimit} bytes of sources in the notebook, found ${size}`);
}

function runOf(id: string, code: string): Message {
  return { type: "run_cell", cell_id: id, code };
}

/** An error is better than silence: whoever asks for a run waits for its end. */
function autoRunError(): ActionError {
  return new ActionError("auto_run: expected false for a markdown cell, which does not run, found true");
}

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
