import { read, string } from "../json/schema";
import type { Fields } from "../json/values";
import type { CellType, MessageOf, OutgoingMessage } from "../protocol/messages";
import type { Cell, State } from "../store/state";
import { byteLength } from "../store/utf8";
import { ActionError, ActionParams } from "./actionParams";
import { describeNotebookForAgent } from "./agentContext";

type NotebookEvent = MessageOf<"notebook_event">;

/** Maximum size in bytes of all sources of a notebook together. */
const maxSourceBytes = 8 << 20;

/** What the holder of a notebook provides to carry out actions, besides the notebook's state. */
export interface ActionContext {
  language: string;
  /** Returns an id for a new cell. */
  createId(): string;
}

/** The changes to the notebook, the messages to send and the response fields that result from an action. */
export interface ActionResult {
  /** notebook_events for the reducer. */
  events: readonly NotebookEvent[];
  /** Fields of the response besides type, tx_id and status. */
  fields: Readonly<Record<string, unknown>>;
  /** Messages to send to /run after the response. */
  kernelMessages: readonly OutgoingMessage[];
}

/** The result of an agent_action that was carried out, or the error it was refused with. */
export interface ActionOutcome {
  events: readonly NotebookEvent[];
  /** null: the agent does not want a response. */
  response: OutgoingMessage | null;
  kernelMessages: readonly OutgoingMessage[];
}

/**
 * Carries out an agent_action on a notebook. A failing action changes nothing and is answered with
 * an error.
 */
export function handleAgentAction(state: State, message: Fields, context: ActionContext): ActionOutcome {
  const txId = read(string, message.tx_id);
  const responseOf = (status: string, fields: Readonly<Record<string, unknown>>): OutgoingMessage | null =>
    txId === "" ? null : { type: "agent_action_response", tx_id: txId, status, ...fields };
  try {
    const { events, fields, kernelMessages } = performAction(state, message, context);
    return { events, kernelMessages, response: responseOf("success", fields) };
  } catch (error) {
    const action = read(string, message.action);
    const text = `${action === "" ? "" : `${action}: `}${error instanceof Error ? error.message : String(error)}`;
    const more = error instanceof ActionError ? error.fields : {};
    return { events: [], kernelMessages: [], response: responseOf("error", { error: text, ...more }) };
  }
}

/** Returns what an action changes and sends. Throws an ActionError if the action cannot be carried out. */
export function performAction(state: State, message: Fields, context: ActionContext): ActionResult {
  const fields = new ActionParams(message);
  const action = fields.id("action");
  const params = new ActionParams(fields.optionalObject("params"));
  switch (action) {
    case "get_context":
      return { ...emptyActionResult, fields: { context: describeNotebookForAgent(state, context.language) } };
    case "create_cell":
      return createCell(state, params, context);
    case "create_markdown_cell":
      return createMarkdownCell(state, params, context);
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

const emptyActionResult: ActionResult = { events: [], fields: {}, kernelMessages: [] };

function createCell(state: State, params: ActionParams, context: ActionContext): ActionResult {
  const position = positionOfNewCell(state, params);
  const type = params.has("cell_type") ? params.oneOf<CellType>("cell_type", "code", "markdown") : "code";
  const source = params.text("source");
  const title = params.optionalText("title");
  const autoRun = params.flag("auto_run");
  if (autoRun && type === "markdown") throw markdownAutoRunError();
  const id = context.createId();
  const events = [cellCreatedEvent(state, { id, type, source, title, rev: 1 }, position)];
  return { events, fields: { cell_id: id, tf_id: id }, kernelMessages: autoRun ? [runCellMessage(id, source)] : [] };
}

function createMarkdownCell(state: State, params: ActionParams, context: ActionContext): ActionResult {
  const position = positionOfNewCell(state, params);
  const source = params.text("source");
  const id = context.createId();
  const events = [cellCreatedEvent(state, { id, type: "markdown", source, title: "", rev: 1 }, position)];
  return { events, fields: { cell_id: id }, kernelMessages: [] };
}

/** Returns where a new cell goes: by default to the end. */
function positionOfNewCell(state: State, params: ActionParams): number {
  return params.has("position") ? params.integer("position") : state.notebook.order.length;
}

function cellCreatedEvent(state: State, cell: Cell, position: number): NotebookEvent {
  checkSourceSize(state, cell.source, 0);
  const count = state.notebook.order.length;
  if (position < 0 || position > count) {
    throw new ActionError(`position: expected an integer from 0 to ${count}, the number of cells, found ${position}`);
  }
  const { id, type, source, title, rev } = cell;
  const wire = { cell_id: id, cell_type: type, source, display_name: title, rev };
  return { type: "notebook_event", event: "cell_created", cell: wire, position };
}

function editCell(state: State, params: ActionParams): ActionResult {
  const id = params.id("cell_id");
  const source = params.text("source");
  const autoRun = params.flag("auto_run");
  const rev = params.has("rev") ? params.integer("rev") : null;
  const cell = findCell(state, id);
  if (rev !== null && rev !== cell.rev) {
    const text = `rev: expected ${cell.rev}, found ${rev}: this answer has the source of rev ${cell.rev}`;
    throw new ActionError(text, { source: cell.source, rev: cell.rev });
  }
  if (autoRun && cell.type === "markdown") throw markdownAutoRunError();
  checkSourceSize(state, source, byteLength(cell.source));
  const edited: NotebookEvent = {
    type: "notebook_event",
    event: "cell_edited",
    cell_id: id,
    source,
    rev: cell.rev + 1,
  };
  const events = source === cell.source ? [] : [edited];
  return { events, fields: { cell_id: id }, kernelMessages: autoRun ? [runCellMessage(id, source)] : [] };
}

function deleteCell(state: State, params: ActionParams): ActionResult {
  const cell = findCell(state, params.id("cell_id"));
  const left = state.notebook.order.filter((id) => id !== cell.id);
  const remaining = left.map((id, index) => ({ index, cell_type: state.notebook.cells[id]?.type, cell_id: id }));
  return {
    events: [{ type: "notebook_event", event: "cell_deleted", cell_id: cell.id }],
    fields: { cell_count: left.length, remaining_cells: remaining },
    kernelMessages: cell.type === "code" ? [{ type: "dispose_cell", cell_id: cell.id }] : [],
  };
}

function moveCell(state: State, params: ActionParams): ActionResult {
  const id = params.id("cell_id");
  const position = params.integer("position");
  findCell(state, id);
  const { order } = state.notebook;
  if (position < 0 || position >= order.length) {
    throw new ActionError(
      `position: expected an integer from 0 to ${order.length - 1}, the last place, found ${position}`,
    );
  }
  const moved: NotebookEvent = { type: "notebook_event", event: "cell_moved", cell_id: id, position };
  return { events: order[position] === id ? [] : [moved], fields: { cell_id: id }, kernelMessages: [] };
}

function runCell(state: State, params: ActionParams): ActionResult {
  const cell = findCodeCell(state, params);
  return { events: [], fields: { cell_id: cell.id }, kernelMessages: [runCellMessage(cell.id, cell.source)] };
}

function stopCell(state: State, params: ActionParams): ActionResult {
  const { id } = findCodeCell(state, params);
  return { events: [], fields: { cell_id: id }, kernelMessages: [{ type: "stop_cell", cell_id: id }] };
}

function setWidget(state: State, params: ActionParams): ActionResult {
  const key = params.id("key");
  const value = params.text("value");
  if (!isJSON(value)) params.fail("value", "a string of JSON");
  const known = Object.values(state.notebook.executions).some(({ widgets }) => Object.hasOwn(widgets, key));
  if (!known) params.fail("key", "the key of a widget");
  return { events: [], fields: { key }, kernelMessages: [{ type: "set_widget_value", data: { [key]: value } }] };
}

function findCell(state: State, id: string): Cell {
  const { cells } = state.notebook;
  const cell = Object.hasOwn(cells, id) ? cells[id] : undefined;
  if (cell === undefined) throw new ActionError(`cell_id: expected the id of a cell, found ${JSON.stringify(id)}`);
  return cell;
}

function findCodeCell(state: State, params: ActionParams): Cell {
  const cell = findCell(state, params.id("cell_id"));
  if (cell.type === "code") return cell;
  const name = JSON.stringify(cell.id);
  throw new ActionError(`cell_id: expected a code cell, found ${name}, a markdown cell, which does not run`);
}

/**
 * Throws an ActionError if the notebook has no room for a source that replaces one of `replaced`
 * bytes.
 */
function checkSourceSize(state: State, source: string, replaced: number): void {
  let size = byteLength(source) - replaced;
  for (const cell of Object.values(state.notebook.cells)) size += byteLength(cell.source);
  if (size <= maxSourceBytes) return;
  throw new ActionError(`source: expected at most ${maxSourceBytes} bytes of sources in the notebook, found ${size}`);
}

function runCellMessage(id: string, code: string): OutgoingMessage {
  return { type: "run_cell", cell_id: id, code };
}

/**
 * Returns the error of a request to run a markdown cell. It must not be ignored: the agent would
 * wait for the end of the run.
 */
function markdownAutoRunError(): ActionError {
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
