// Keys that are pressed while a change of the notebook was asked for and is not on
// the screen yet: they are for the notebook as it will be then.

import { keyName, type Pressed as Named } from "./keyName";

/** After so many milliseconds keys go where the focus is, whether the change has come or not. */
const holdMs = 5000;

/** One key, or what was pasted. */
export interface Step {
  /** As of keyName. */
  name: string;
  /** What it writes into a text, "\b" for Backspace; null: nothing. */
  text: string | null;
  /** When it was pressed: the event's time stamp in milliseconds. */
  at: number;
}

export interface Hold {
  /** A change was asked for. A hold before it ends, and what was pressed for that is dropped. */
  begin(): Held;
  /** The hold that goes on; null: keys go where the focus is. */
  now(): Held | null;
  /** It lasted too long while something was pressed. Tells it once. */
  late(): boolean;
  /** The change is there, or does not come. Returns what was pressed for it. */
  end(): Step[];
}

export interface Held {
  steps: Step[];
}

export function createHold(): Hold {
  let held: Held = { steps: [] };
  let until = 0;
  const lasts = () => performance.now() < until;
  return {
    begin() {
      held = { steps: [] };
      until = performance.now() + holdMs;
      return held;
    },
    now: () => (lasts() ? held : null),
    late() {
      if (lasts() || held.steps.length === 0) return false;
      held = { steps: [] };
      return true;
    },
    end() {
      const steps = lasts() ? held.steps : [];
      held = { steps: [] };
      until = 0;
      return steps;
    },
  };
}

type Pressed = Named & Pick<KeyboardEvent, "repeat" | "timeStamp">;

/** Keeps a key for later. False: the browser shall do what the key does. */
export function holdKey({ steps }: Held, event: Pressed): boolean {
  const { key, ctrlKey, metaKey, altKey, repeat, timeStamp } = event;
  // Copying and loading anew change nothing here; pasting is held as what it pastes.
  if ((ctrlKey || metaKey) && !altKey && /^[cvr]$/i.test(key)) return false;
  if (/^F\d+$/.test(key)) return false;
  const text = ctrlKey || metaKey ? null : textOf(key);
  // A key that is held down writes on, but asks for nothing again while it waits.
  if (!repeat || text !== null) steps.push({ name: keyName(event), text, at: timeStamp });
  return true;
}

function textOf(key: string): string | null {
  if (key === "Enter") return "\n";
  if (key === "Backspace") return "\b";
  return [...key].length === 1 ? key : null;
}

/** What the keys write, one after the other. */
export function written(steps: readonly Step[]): string {
  let text = "";
  for (const step of steps) text = step.text === "\b" ? [...text].slice(0, -1).join("") : text + (step.text ?? "");
  return text;
}
