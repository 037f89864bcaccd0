import { type SessionAccess, whyCannotRestart, whyCannotRunCells } from "../commands/access";
import type { Commands } from "../commands/commands";
import { type Fields, jsonOrEmpty } from "../json/values";
import type { CellType, MessageOf, OutgoingMessage } from "../protocol/messages";
import type { Store } from "../store/store";
import type { UnsentEdits } from "./edits";

/** The message types that answer a page's requests at /run. */
export type KernelAnswerType = "set_widget_value_response" | "globals_summary" | "reactivity_summary";

/**
 * The operations that the user's commands are made of. They differ between views and holders of the
 * notebook.
 */
export interface CommandBackend {
  store: Store;
  edits: UnsentEdits;
  /** Changes the notebook by an action of docs/consoles.md. Resolves to the fields of the response. */
  act(action: string, params: Fields): Promise<{ cell_id?: string }>;
  /**
   * Runs a cell with the text that was just typed, or with its source if that is null. Returns
   * false if there is no connection.
   */
  runCell(id: string, typed: string | null): boolean;
  /** Sends a request to /run and resolves to its answer. */
  requestFromRun: <K extends KernelAnswerType>(answerType: K, message: OutgoingMessage) => Promise<MessageOf<K>>;
  /** Sends a message to /run. Returns false if there is no connection. */
  sendToRun(message: OutgoingMessage): boolean;
  sendToAgent(message: OutgoingMessage): boolean; // Sends a message to /agent. Returns false if there is no connection.
  /** Shows the user what was not done, and why. */
  reportFailure(text: string): void;
  /** Offers the text that the user had typed into a cell in conflict, which was deleted. */
  offerLostText(text: string): void;
}

/** Returns the user's commands, carried out by a backend. */
export function createCommands(backend: CommandBackend, access: SessionAccess): Commands {
  const problem = whyCannotRunCells(access);
  const permissions = { canRun: problem === null, runProblem: problem, canRestart: whyCannotRestart(access) === null };
  return { ...permissions, ...cellCommands(backend), ...kernelCommands(backend), ...agentCommands(backend) };
}

type CellCommands = Pick<
  Commands,
  "createCell" | "editCell" | "deleteCell" | "keptInNotebook" | "moveCell" | "changeType"
>;

function cellCommands({ store, edits, act, offerLostText }: CommandBackend): CellCommands {
  const createCell = async (position: number, cell_type: CellType, source: string, title = "") =>
    (await act("create_cell", { position, cell_type, source, title })).cell_id ?? "";
  const deleteCell = async (id: string) => {
    const resumeSending = edits.pauseSending(id);
    const conflictText = edits.isInConflict(id) ? edits.unsentText(id) : null;
    try {
      await act("delete_cell", { cell_id: id });
      edits.discard(id);
      if (conflictText !== null) offerLostText(conflictText);
    } finally {
      resumeSending();
    }
  };
  return {
    createCell,
    deleteCell,
    keptInNotebook: (id) => edits.discard(id),
    editCell: (id, source) => edits.setText(id, source),
    moveCell: async (id, position) => void (await act("move_cell", { cell_id: id, position })),
    changeType: async (id, type) => {
      const { order, cells } = store.get().notebook;
      const cell = cells[id];
      if (cell === undefined) throw new Error("the cell is not there any more");
      const text = edits.unsentText(id) ?? cell.source;
      const resumeSending = edits.pauseSending(id);
      try {
        const newId_ = await createCell(order.indexOf(id), type, text, cell.title);
        await act("delete_cell", { cell_id: id });
        const newest = edits.unsentText(id) ?? text; // typed in the meantime
        edits.discard(id);
        if (newest !== text) edits.setText(newId_, newest);
        return newId_;
      } finally {
        resumeSending();
      }
    },
  };
}

type KernelCommands = Pick<Commands, "runCell" | "stopCell" | "setWidget" | "restart" | "globals" | "reactivity">;

function kernelCommands(backend: CommandBackend): KernelCommands {
  const { requestFromRun, sendToRun, reportFailure } = backend;
  let previousRun = Promise.resolve();
  return {
    // A cell may have to be stored before it runs. Cells still run in the order of the commands.
    runCell: (id) => {
      previousRun = saveAndRunCell(backend, id, previousRun);
    },
    stopCell: (id) => {
      if (!sendToRun({ type: "stop_cell", cell_id: id }))
        reportFailure("The cell was not stopped: there is no connection.");
    },
    setWidget: async (key, value) => {
      const data = { [key]: jsonOrEmpty(value) || "null" };
      await requestFromRun("set_widget_value_response", { type: "set_widget_value", data });
    },
    restart: (name) => {
      const sent = sendToRun({ type: "managed_process_restart", name });
      if (!sent) reportFailure(`The ${name} was not restarted: there is no connection.`);
    },
    globals: () => requestFromRun("globals_summary", { type: "globals_summary" }),
    reactivity: () => requestFromRun("reactivity_summary", { type: "reactivity_summary" }),
  };
}

/**
 * Stores the text that was typed into a cell and then runs that text, after cells whose run was
 * requested before.
 */
async function saveAndRunCell(
  { edits, runCell, reportFailure }: CommandBackend,
  id: string,
  previousRun: Promise<void>,
): Promise<void> {
  try {
    const [typed] = await Promise.all([edits.flush(id, previousRun), previousRun]);
    if (!runCell(id, typed)) reportFailure("The cell was not run: there is no connection.");
  } catch (error) {
    await previousRun;
    const why = error instanceof Error ? error.message : String(error);
    reportFailure(`The cell was not run: ${why.replace(/\.?$/, ".")}`);
  }
}

type AgentCommands = Pick<Commands, "query" | "cancel" | "clearHistory" | "startAttempt" | "submitAnswer">;

function agentCommands({ store, edits, sendToAgent, reportFailure }: CommandBackend): AgentCommands {
  const sendQuery = (query: string) => sendToAgent({ type: "agent_query", query, request_id: crypto.randomUUID() });
  return {
    query: (query) => {
      if (!sendQuery(query)) reportFailure("The agent was not asked: there is no connection.");
    },
    startAttempt: () => {
      if (!sendToAgent({ type: "attempt_start" }))
        reportFailure("The attempt was not started: there is no connection.");
    },
    submitAnswer: async (json) => {
      await edits.flushAll();
      if (!sendQuery(json)) throw new Error("there is no connection");
    },
    cancel: () => {
      const sent = sendToAgent({ type: "agent_cancel", request_id: store.get().agent.request ?? "" });
      if (!sent) reportFailure("Nothing was cancelled: there is no connection.");
    },
    clearHistory: () => {
      if (!sendToAgent({ type: "agent_clear_history" })) reportFailure("Nothing was cleared: there is no connection.");
    },
  };
}
