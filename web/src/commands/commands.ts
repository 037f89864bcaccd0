import { createContext, useContext } from "react";
import type { CellType } from "../protocol/messages";

/**
 * What a person may do with the notebook that is shown. The console offers it, as
 * a view by asking the server, as a holder by changing its own document; where a
 * notebook is only looked at there is none. Each promise is rejected with an Error
 * whose message is for people; the notebook itself changes by what comes back.
 */
export interface Commands {
  /** Cells may be run, stopped and widgets set: EVAL_SANDBOX, or this console owns the session. */
  canRun: boolean;
  /** Why canRun is false, a sentence for people; null or absent: that is not known. */
  whyNot?: string | null;
  /** Why no cell can be made, a sentence for people; null or absent: it can. */
  whyNotAdd?: string | null;
  /** The kernel can be restarted though nothing can be run: the attempt has ended. */
  canRestart?: boolean;
  /** Resolves to the new cell's id. Without a title it has none. */
  createCell(position: number, type: CellType, source: string, title?: string): Promise<string>;
  /**
   * Says what a cell's source is now. It is sent when typing pauses, and before
   * anything that needs it; while there is no connection it is kept. One at a time:
   * what was typed meanwhile follows.
   */
  editCell(id: string, source: string): void;
  deleteCell(id: string): Promise<void>;
  /**
   * Says that what was typed into a cell that somebody has deleted is kept, and told of,
   * where it was typed. Absent: nobody else would tell of it.
   */
  rescued?(id: string): void;
  /** position is the cell's place when it has been taken out, from 0. */
  moveCell(id: string, position: number): Promise<void>;
  /** Makes another cell of it, of that type, in its place; resolves to its id. */
  changeType(id: string, type: CellType): Promise<string>;
  runCell(id: string): void;
  stopCell(id: string): void;
  /** key is absolute; the promise resolves when the kernel has accepted the value. */
  setWidget(key: string, value: unknown): Promise<void>;
  restart(name: "kernel" | "agent"): void;
  /** The names that the kernel holds, and what each is: docs/kernel.md says how a summary looks. */
  globals(): Promise<GlobalsSummary>;
  reactivity(): Promise<ReactivitySummary>;
  /** Gives the agent something to do. */
  query(text: string): void;
  /** Ends what the agent works on. */
  cancel(): void;
  clearHistory(): void;
}

export interface GlobalsSummary {
  summary: Record<string, GlobalInfo>;
  truncated?: boolean;
  /** The kernel was too busy: this is what it said age_ms ago. */
  stale?: boolean;
  age_ms?: number;
}

export interface GlobalInfo {
  type?: string;
  repr?: string;
  error?: string;
  [field: string]: unknown;
}

export interface ReactivitySummary {
  summary: string;
  cell_reactivity: Record<string, CellReactivity>;
}

export interface CellReactivity {
  signals_defined: string[];
  depends_on_signals: string[];
  depends_on_cells: string[];
}

const CommandsContext = createContext<Commands | null>(null);

export const CommandsProvider = CommandsContext.Provider;

/** null: the notebook is only looked at. */
export function useCommands(): Commands | null {
  return useContext(CommandsContext);
}
