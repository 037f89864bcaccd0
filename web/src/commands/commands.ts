import { createContext, useContext } from "react";
import type { CellType, GlobalsSummary, ReactivitySummary } from "../protocol/messages";

/**
 * What the user can do with the notebook on screen. A console provides it: a view asks the server,
 * a holder changes its own document. A read-only notebook has none. Promises reject with an Error
 * whose message is for the user; the notebook itself changes through the store.
 */
export interface Commands {
  /**
   * Cells can run and stop, and widgets can be set: this is sandbox mode, or this console owns the
   * session.
   */
  canRun: boolean;
  /** Why canRun is false, as a sentence; null or absent: unknown. */
  runProblem?: string | null;
  /** Why no cell can be created, as a sentence; null or absent: cells can be created. */
  addProblem?: string | null;
  /** The kernel can be restarted although canRun is false: the attempt has ended. */
  canRestart?: boolean;
  /** Creates a cell and resolves to its id. */
  createCell(position: number, type: CellType, source: string, title?: string): Promise<string>;
  /**
   * Sets the source of a cell. It is sent when typing pauses and before anything that needs it;
   * without a connection it is kept. Edits of a cell are sent one at a time.
   */
  editCell(id: string, source: string): void;
  deleteCell(id: string): Promise<void>;
  /** Must be called when the notebook shows the text of a deleted cell, so that no notice offers the text too. */
  keptInNotebook?(id: string): void;
  /** position is counted from 0, without the cell itself. */
  moveCell(id: string, position: number): Promise<void>;
  /** Replaces the cell by one of another type. Resolves to the new id. */
  changeType(id: string, type: CellType): Promise<string>;
  runCell(id: string): void;
  stopCell(id: string): void;
  /** key is absolute. Resolves when the kernel has accepted the value. */
  setWidget(key: string, value: unknown): Promise<void>;
  restart(name: "kernel" | "agent"): void;
  /** Asks the kernel for its variables. docs/kernel.md describes the summary. */
  globals(): Promise<KernelGlobals>;
  /** Asks the kernel which cells define and use which signals. */
  reactivity(): Promise<KernelReactivity>;
  /** Sends a prompt to the agent. */
  query(text: string): void;
  /** Cancels the agent's current query. */
  cancel(): void;
  clearHistory(): void;
  /** Starts the attempt in which a person does the agent's work. */
  startAttempt(): void;
  /**
   * Submits the answer of the person who does the agent's work, as JSON, after storing everything typed
   * into cells. Resolves when it is sent.
   */
  submitAnswer(json: string): Promise<void>;
}

/** The variables of the kernel. */
export type KernelGlobals = Pick<GlobalsSummary, "summary"> &
  Partial<Pick<GlobalsSummary, "truncated" | "stale" | "age_ms">>;

/** Which cells define and use which signals. */
export type KernelReactivity = Pick<ReactivitySummary, "summary" | "cell_reactivity">;

const CommandsContext = createContext<Commands | null>(null);

/** Sets the commands that the components below can use; null makes the notebook read-only. */
export const CommandsProvider = CommandsContext.Provider;

/** Returns the user's commands; null: the notebook is read-only. */
export function useCommands(): Commands | null {
  return useContext(CommandsContext);
}
