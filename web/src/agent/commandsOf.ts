import type { CellReactivity, Commands, GlobalInfo } from "../commands/commands";
import { type Standing, whyNotRestart, whyNotRun } from "../commands/whyNot";
import { type Fields, isObject, isTexts, jsonOf, numberOrZero, textOf } from "../json/read";
import type { CellType, Message } from "../protocol/messages";
import type { Store } from "../store/store";
import type { Edits } from "./edits";

/** What commands are carried out with; a holder's and a view's differ in how they act. */
export interface Hands {
  store: Store;
  edits: Edits;
  /** Changes the notebook by an action of docs/consoles.md; resolves to the fields of the answer. */
  act(action: string, params: Fields): Promise<Fields>;
  /** Runs a cell with what was typed just now, null: with what is there. false: there is no connection. */
  run(id: string, typed: string | null): boolean;
  /** Asks at /run. */
  askRun(message: Message): Promise<Message>;
  /** false: there is no connection, and nothing was sent. */
  sendRun(message: Message): boolean;
  sendAgent(message: Message): boolean;
  /** Tells a person what was not done, and why. */
  refuse(text: string): void;
  /** Tells that a cell in conflict was deleted, with the text that a person had typed. */
  lost(text: string): void;
}

/** What a person may do. */
export function commandsOf(hands: Hands, standing: Standing): Commands {
  const whyNot = whyNotRun(standing);
  const can = { canRun: whyNot === null, whyNot, canRestart: whyNotRestart(standing) === null };
  return { ...can, ...cellCommands(hands), ...kernelCommands(hands), ...agentCommands(hands) };
}

type CellCommands = Pick<Commands, "createCell" | "editCell" | "deleteCell" | "rescued" | "moveCell" | "changeType">;

function cellCommands({ store, edits, act, lost }: Hands): CellCommands {
  const createCell = async (position: number, cell_type: CellType, source: string, title = "") =>
    textOf((await act("create_cell", { position, cell_type, source, title })).cell_id);
  const deleteCell = async (id: string) => {
    const release = edits.hold(id);
    const mine = edits.inConflict(id) ? edits.text(id) : null;
    try {
      await act("delete_cell", { cell_id: id });
      edits.drop(id);
      if (mine !== null) lost(mine);
    } finally {
      release();
    }
  };
  return {
    createCell,
    deleteCell,
    rescued: (id) => edits.drop(id),
    editCell: (id, source) => edits.typed(id, source),
    moveCell: async (id, position) => void (await act("move_cell", { cell_id: id, position })),
    changeType: async (id, type) => {
      const { order, cells } = store.get().notebook;
      const cell = cells[id];
      if (cell === undefined) throw new Error("the cell is not there any more");
      const text = edits.text(id) ?? cell.source;
      const release = edits.hold(id);
      try {
        const other = await createCell(order.indexOf(id), type, text, cell.title);
        await act("delete_cell", { cell_id: id });
        const newest = edits.text(id) ?? text; // what was typed meanwhile goes along
        edits.drop(id);
        if (newest !== text) edits.typed(other, newest);
        return other;
      } finally {
        release();
      }
    },
  };
}

type KernelCommands = Pick<Commands, "runCell" | "stopCell" | "setWidget" | "restart" | "globals" | "reactivity">;

function kernelCommands(hands: Hands): KernelCommands {
  const { askRun, sendRun, refuse } = hands;
  let before = Promise.resolve();
  return {
    // What was typed may have to be stored first; cells run in the order in which it was asked for nevertheless.
    runCell: (id) => {
      before = runCell(hands, id, before);
    },
    stopCell: (id) => {
      if (!sendRun({ type: "stop_cell", cell_id: id })) refuse("The cell was not stopped: there is no connection.");
    },
    setWidget: async (key, value) => {
      await askRun({ type: "set_widget_value", data: { [key]: jsonOf(value) || "null" } });
    },
    restart: (name) => {
      const sent = sendRun({ type: "managed_process_restart", name });
      if (!sent) refuse(`The ${name} was not restarted: there is no connection.`);
    },
    globals: async () => {
      const { summary, truncated, stale, age_ms } = await askRun({ type: "globals_summary" });
      const names = Object.entries(isObject(summary) ? summary : {});
      return {
        summary: Object.fromEntries(names.map(([name, info]) => [name, isObject(info) ? (info as GlobalInfo) : {}])),
        truncated: truncated === true,
        stale: stale === true,
        age_ms: numberOrZero(age_ms),
      };
    },
    reactivity: async () => {
      const { summary, cell_reactivity: cells } = await askRun({ type: "reactivity_summary" });
      const all = Object.entries(isObject(cells) ? cells : {});
      return {
        summary: textOf(summary),
        cell_reactivity: Object.fromEntries(all.map(([id, c]) => [id, reactivityOf(c)])),
      };
    },
  };
}

function reactivityOf(cell: unknown): CellReactivity {
  const fields = isObject(cell) ? cell : {};
  const list = (value: unknown) => (isTexts(value) ? value : []);
  return {
    signals_defined: list(fields.signals_defined),
    depends_on_signals: list(fields.depends_on_signals),
    depends_on_cells: list(fields.depends_on_cells),
  };
}

/** Runs a cell when the one before was sent: what was typed is stored first, and then is what runs. */
async function runCell({ edits, run, refuse }: Hands, id: string, before: Promise<void>): Promise<void> {
  try {
    const [typed] = await Promise.all([edits.flush(id, before), before]);
    if (!run(id, typed)) refuse("The cell was not run: there is no connection.");
  } catch (error) {
    await before;
    const why = error instanceof Error ? error.message : String(error);
    refuse(`The cell was not run: ${why.replace(/\.?$/, ".")}`);
  }
}

type AgentCommands = Pick<Commands, "query" | "cancel" | "clearHistory">;

function agentCommands({ store, sendAgent, refuse }: Hands): AgentCommands {
  return {
    query: (query) => {
      const sent = sendAgent({ type: "agent_query", query, request_id: crypto.randomUUID() });
      if (!sent) refuse("The agent was not asked: there is no connection.");
    },
    cancel: () => {
      const sent = sendAgent({ type: "agent_cancel", request_id: store.get().agent.request ?? "" });
      if (!sent) refuse("Nothing was cancelled: there is no connection.");
    },
    clearHistory: () => {
      if (!sendAgent({ type: "agent_clear_history" })) refuse("Nothing was cleared: there is no connection.");
    },
  };
}
