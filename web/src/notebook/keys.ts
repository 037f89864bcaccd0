// The keys of the notebook: what they do, and what the help says of them.

import { changeType, insert, moveBy, remove, restore } from "./change";
import type { Desk } from "./desk";
import { askRestart, interrupt, runAndGoOn, runAndInsert, runHere } from "./run";
import { edit, leave, selectBy } from "./select";
import { withId, withoutId } from "./view";

export interface Key {
  /** Each of these does it: names as of keyName, two with a blank between are pressed one after the other. */
  keys: readonly string[];
  /** command: a cell has the focus. edit: an editor has it. */
  where: "command" | "edit" | "both";
  says: string;
  act: (desk: Desk) => void;
  /** It changes nothing, and is there also where the notebook is only looked at. */
  reads?: true;
  /** Holding it down does it again. */
  repeats?: true;
}

export const keys: readonly Key[] = [
  { keys: ["Enter"], where: "command", says: "Edit the cell", act: (desk) => edit(desk) },
  { keys: ["Escape"], where: "edit", says: "Leave the cell's text", act: leave },
  {
    keys: ["ArrowUp", "k"],
    where: "command",
    says: "Cell above",
    act: (d) => selectBy(d, -1),
    reads: true,
    repeats: true,
  },
  {
    keys: ["ArrowDown", "j"],
    where: "command",
    says: "Cell below",
    act: (d) => selectBy(d, 1),
    reads: true,
    repeats: true,
  },
  { keys: ["Home"], where: "command", says: "First cell", act: (d) => selectBy(d, -Infinity), reads: true },
  { keys: ["End"], where: "command", says: "Last cell", act: (d) => selectBy(d, Infinity), reads: true },
  { keys: ["Shift-Enter"], where: "both", says: "Run, and go to the next cell", act: runAndGoOn },
  { keys: ["Mod-Enter"], where: "both", says: "Run", act: runHere },
  { keys: ["Alt-Enter"], where: "both", says: "Run, and insert a cell below", act: runAndInsert },
  { keys: ["a"], where: "command", says: "Insert a cell above", act: (desk) => insert(desk, 0) },
  { keys: ["b"], where: "command", says: "Insert a cell below", act: (desk) => insert(desk, 1) },
  { keys: ["d d"], where: "command", says: "Delete the cell", act: (desk) => remove(desk) },
  { keys: ["z"], where: "command", says: "Bring the cell back that was deleted last", act: (desk) => restore(desk) },
  { keys: ["m"], where: "command", says: "Make it a Markdown cell", act: (desk) => changeType(desk, "markdown") },
  { keys: ["y"], where: "command", says: "Make it a code cell", act: (desk) => changeType(desk, "code") },
  {
    keys: ["Mod-Shift-ArrowUp"],
    where: "both",
    says: "Move the cell up",
    act: (desk) => moveBy(desk, -1),
    repeats: true,
  },
  {
    keys: ["Mod-Shift-ArrowDown"],
    where: "both",
    says: "Move the cell down",
    act: (desk) => moveBy(desk, 1),
    repeats: true,
  },
  { keys: ["K"], where: "command", says: "Move the cell up", act: (desk) => moveBy(desk, -1), repeats: true },
  { keys: ["J"], where: "command", says: "Move the cell down", act: (desk) => moveBy(desk, 1), repeats: true },
  { keys: ["o"], where: "command", says: "Show or hide the outputs", act: (desk) => toggleOutputs(desk), reads: true },
  { keys: ["i i"], where: "command", says: "Interrupt the running cell", act: interrupt },
  { keys: ["0 0"], where: "command", says: "Restart the kernel", act: askRestart },
  { keys: ["Mod-f"], where: "both", says: "Find in all cells", act: find, reads: true },
  { keys: ["Mod-s"], where: "both", says: "Nothing: what you type is kept as you type", act: saySaved },
  {
    keys: ["?"],
    where: "command",
    says: "Show these keys",
    act: ({ view }) => view.set({ dialog: "keys" }),
    reads: true,
  },
];

/** What CodeMirror does in a cell's text, for the help. */
export const editorKeys: readonly { keys: readonly string[]; says: string }[] = [
  { keys: ["Tab"], says: "Indent; to leave the text with Tab, press Escape before it" },
  { keys: ["Shift-Tab"], says: "Indent less" },
  { keys: ["Mod-z"], says: "Undo" },
  { keys: ["Mod-Shift-z", "Mod-y"], says: "Redo" },
  { keys: ["Mod-/"], says: "Comment or uncomment the lines" },
  { keys: ["Mod-h"], says: "Find and replace in this cell" },
];

/** Shows or hides the outputs of the cell, or the selected one. */
export function toggleOutputs({ view }: Desk, id = view.get().selected): void {
  if (id === null) return;
  const { folded } = view.get();
  view.set({ folded: folded.has(id) ? withoutId(folded, id) : withId(folded, id) });
}

function find({ view }: Desk): void {
  view.set({ finding: view.get().finding + 1 });
}

function saySaved({ view }: Desk): void {
  view.set({ note: { tone: "neutral", text: "What you type is kept as you type." } });
}
