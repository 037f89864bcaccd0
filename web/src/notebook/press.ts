// Doing what a key says, when it is pressed or when what it waited for is there.

import type { Desk } from "./desk";
import { type Step, written } from "./hold";
import { type Key, keys } from "./keys";

/** So long after the first key of two the second one still belongs to it. */
const chordMs = 800;

export interface Press {
  /** As of keyName. */
  name: string;
  /** In milliseconds. */
  at: number;
  /** The key is held down. */
  repeat: boolean;
}

/** command: a cell has the focus. edit: an editor has it. */
export type Where = "command" | "edit";

/** Does what the key says there. False: it says nothing. */
export function press(desk: Desk, { name, at, repeat }: Press, where: Where): boolean {
  const { chord } = desk;
  const both = chord !== null && at - chord.at < chordMs ? `${chord.name} ${name}` : name;
  desk.chord = repeat ? null : { name, at };
  const found = find(both, where) ?? find(name, where);
  if (found === null || (desk.commands() === null && !found.reads)) return false;
  desk.chord = null;
  if (!repeat || found.repeats) found.act(desk);
  return true;
}

function find(name: string, where: Where): Key | null {
  return keys.find((key) => (key.where === where || key.where === "both") && key.keys.includes(name)) ?? null;
}

/**
 * Does what was pressed while the notebook was being changed, now that a cell
 * (command) or its editor (edit) has got the focus. write takes what was typed for
 * the text. What comes after a key that changes the notebook again waits for that.
 */
export function playHeld(desk: Desk, where: Where, write: (text: string) => void): void {
  const steps = desk.hold.end();
  let now = where;
  while (steps.length > 0) {
    const typed = now === "edit" ? steps.splice(0, lengthOfText(steps)) : [];
    const text = written(typed);
    if (text !== "") write(text);
    const step = steps.shift();
    if (step === undefined) return;
    press(desk, { ...step, repeat: false }, now);
    const opens: boolean = now === "command" && desk.view.get().editing;
    const waits = desk.hold.now() ?? (opens ? desk.hold.begin() : null);
    if (waits !== null) {
      waits.steps.push(...steps);
      return;
    }
    now = desk.view.get().editing ? "edit" : "command";
  }
}

/** So many steps from the first on go into the text. */
function lengthOfText(steps: readonly Step[]): number {
  const end = steps.findIndex(({ name, text }) => text === null || find(name, "edit") !== null);
  return end < 0 ? steps.length : end;
}
