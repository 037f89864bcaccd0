// The keyboard shortcuts of the notebook with their help texts.

import { changeCellType, deleteCell, insertCell, moveCellBy, restoreCell } from "./cellCommands";
import type { NotebookContext } from "./notebookContext";
import {
  interruptRunningCell,
  openRestartDialog,
  runAndInsertBelow,
  runAndSelectNext,
  runSelectedCell,
} from "./runCommands";
import { closeCellEditor, openCellEditor, selectRelative } from "./selection";
import { withId, withoutId } from "./viewState";

export interface Shortcut {
  /** Alternative shortcuts, named as by keyName. "d d" means two keys pressed one after the other. */
  keys: readonly string[];
  /** command: a cell has the focus. edit: an editor has it. */
  mode: "command" | "edit" | "both";
  description: string;
  run: (context: NotebookContext) => void;
  /** Changes nothing, and works in a read-only notebook too. */
  worksReadOnly?: true;
  /** Repeats while it is held down. */
  repeats?: true;
}

export const shortcuts: readonly Shortcut[] = [
  { keys: ["Enter"], mode: "command", description: "Edit the cell", run: (context) => openCellEditor(context) },
  { keys: ["Escape"], mode: "edit", description: "Leave the editor", run: closeCellEditor },
  {
    keys: ["ArrowUp", "k"],
    mode: "command",
    description: "Cell above",
    run: (d) => selectRelative(d, -1),
    worksReadOnly: true,
    repeats: true,
  },
  {
    keys: ["ArrowDown", "j"],
    mode: "command",
    description: "Cell below",
    run: (d) => selectRelative(d, 1),
    worksReadOnly: true,
    repeats: true,
  },
  {
    keys: ["Home"],
    mode: "command",
    description: "First cell",
    run: (d) => selectRelative(d, -Infinity),
    worksReadOnly: true,
  },
  {
    keys: ["End"],
    mode: "command",
    description: "Last cell",
    run: (d) => selectRelative(d, Infinity),
    worksReadOnly: true,
  },
  { keys: ["Shift-Enter"], mode: "both", description: "Run, and go to the next cell", run: runAndSelectNext },
  { keys: ["Mod-Enter"], mode: "both", description: "Run", run: runSelectedCell },
  { keys: ["Alt-Enter"], mode: "both", description: "Run, and insert a cell below", run: runAndInsertBelow },
  { keys: ["a"], mode: "command", description: "Insert a cell above", run: (context) => insertCell(context, 0) },
  { keys: ["b"], mode: "command", description: "Insert a cell below", run: (context) => insertCell(context, 1) },
  { keys: ["d d"], mode: "command", description: "Delete the cell", run: (context) => deleteCell(context) },
  {
    keys: ["z"],
    mode: "command",
    description: "Restore the last deleted cell",
    run: (context) => restoreCell(context),
  },
  {
    keys: ["m"],
    mode: "command",
    description: "Make it a Markdown cell",
    run: (context) => changeCellType(context, "markdown"),
  },
  {
    keys: ["y"],
    mode: "command",
    description: "Make it a code cell",
    run: (context) => changeCellType(context, "code"),
  },
  {
    keys: ["Mod-Shift-ArrowUp"],
    mode: "both",
    description: "Move the cell up",
    run: (context) => moveCellBy(context, -1),
    repeats: true,
  },
  {
    keys: ["Mod-Shift-ArrowDown"],
    mode: "both",
    description: "Move the cell down",
    run: (context) => moveCellBy(context, 1),
    repeats: true,
  },
  {
    keys: ["K"],
    mode: "command",
    description: "Move the cell up",
    run: (context) => moveCellBy(context, -1),
    repeats: true,
  },
  {
    keys: ["J"],
    mode: "command",
    description: "Move the cell down",
    run: (context) => moveCellBy(context, 1),
    repeats: true,
  },
  {
    keys: ["o"],
    mode: "command",
    description: "Show or hide the outputs",
    run: (context) => toggleOutputs(context),
    worksReadOnly: true,
  },
  { keys: ["i i"], mode: "command", description: "Interrupt the running cell", run: interruptRunningCell },
  { keys: ["0 0"], mode: "command", description: "Restart the kernel", run: openRestartDialog },
  { keys: ["Mod-f"], mode: "both", description: "Find in all cells", run: openFindBar, worksReadOnly: true },
  { keys: ["Mod-s"], mode: "both", description: "Nothing: edits are saved as you type", run: showSavedNote },
  {
    keys: ["?"],
    mode: "command",
    description: "Show these keys",
    run: ({ view }) => view.set({ dialog: "keys" }),
    worksReadOnly: true,
  },
];

/** CodeMirror's shortcuts while the text of a cell is edited, for the help dialog. */
export const editorShortcuts: readonly { keys: readonly string[]; description: string }[] = [
  { keys: ["Tab"], description: "Indent; to leave the text with Tab, press Escape before it" },
  { keys: ["Shift-Tab"], description: "Indent less" },
  { keys: ["Mod-z"], description: "Undo" },
  { keys: ["Mod-Shift-z", "Mod-y"], description: "Redo" },
  { keys: ["Mod-/"], description: "Comment or uncomment the lines" },
  { keys: ["Mod-h"], description: "Find and replace in this cell" },
];

/** Shows or hides the outputs of the given or the selected cell. */
export function toggleOutputs({ view }: NotebookContext, id = view.get().selected): void {
  if (id === null) return;
  const { cellsWithHiddenOutputs } = view.get();
  view.set({
    cellsWithHiddenOutputs: cellsWithHiddenOutputs.has(id)
      ? withoutId(cellsWithHiddenOutputs, id)
      : withId(cellsWithHiddenOutputs, id),
  });
}

function openFindBar({ view }: NotebookContext): void {
  view.set({ findRequests: view.get().findRequests + 1 });
}

function showSavedNote({ view }: NotebookContext): void {
  view.set({ note: { tone: "neutral", text: "Edits are saved as you type." } });
}
