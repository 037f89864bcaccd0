// Executes keyboard shortcuts, at once or after the change that they waited for.

import { type BufferedKey, typedTextOfKeys } from "./keyBuffer";
import type { NotebookContext } from "./notebookContext";
import { type Shortcut, shortcuts } from "./shortcuts";

/** How many milliseconds after its first key the second key of a two-key shortcut is accepted. */
const secondKeyTimeoutMs = 800;

export interface TimedKey {
  /** The key's name as keyName returns it. */
  name: string;
  /** Time stamp in milliseconds. */
  at: number;
  /** The key is being held down. */
  repeat: boolean;
}

/** Where a key is pressed. command: a cell has the focus. edit: an editor has it. */
export type ShortcutMode = "command" | "edit";

/** Executes the shortcut of a key press. Returns false if there is no shortcut for it. */
export function executeShortcut(
  context: NotebookContext,
  { name, at, repeat }: TimedKey,
  where: ShortcutMode,
): boolean {
  const { pendingKey } = context;
  const twoKeys = pendingKey !== null && at - pendingKey.at < secondKeyTimeoutMs ? `${pendingKey.name} ${name}` : name;
  context.pendingKey = repeat ? null : { name, at };
  const found = findShortcut(twoKeys, where) ?? findShortcut(name, where);
  if (found === null || (context.commands() === null && !found.worksReadOnly)) return false;
  context.pendingKey = null;
  if (!repeat || found.repeats) found.run(context);
  return true;
}

function findShortcut(name: string, where: ShortcutMode): Shortcut | null {
  return shortcuts.find((key) => (key.mode === where || key.mode === "both") && key.keys.includes(name)) ?? null;
}

/**
 * Replays buffered keys after a cell (mode command) or its editor (mode edit) has received the
 * focus. write receives text for the editor. If a key changes the notebook, the remaining keys are
 * buffered for that change.
 */
export function replayBufferedKeys(context: NotebookContext, where: ShortcutMode, write: (text: string) => void): void {
  const steps = context.keyBuffer.stop();
  let mode = where;
  while (steps.length > 0) {
    const typed = mode === "edit" ? steps.splice(0, countTextKeys(steps)) : [];
    const text = typedTextOfKeys(typed);
    if (text !== "") write(text);
    const step = steps.shift();
    if (step === undefined) return;
    executeShortcut(context, { ...step, repeat: false }, mode);
    const opensEditor: boolean = mode === "command" && context.view.get().editing;
    const nextBatch = context.keyBuffer.current() ?? (opensEditor ? context.keyBuffer.start() : null);
    if (nextBatch !== null) {
      nextBatch.keys.push(...steps);
      return;
    }
    mode = context.view.get().editing ? "edit" : "command";
  }
}

/** Returns how many of the buffered keys, from the first on, are text rather than shortcuts. */
function countTextKeys(steps: readonly BufferedKey[]): number {
  const end = steps.findIndex(({ name, text }) => text === null || findShortcut(name, "edit") !== null);
  return end < 0 ? steps.length : end;
}
