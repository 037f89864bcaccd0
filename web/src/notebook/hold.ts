// Keys that are pressed while a cell was asked for and is not on the screen yet:
// they are for that cell, and not for the one that still has the focus.

/** After so many milliseconds keys go where the focus is, whether the cell has come or not. */
const holdMs = 2000;

export interface Hold {
  /** A cell was asked for. editing: its text will be opened. A hold before it ends. */
  begin(editing: boolean): Held;
  /** The hold that goes on; null: keys go where the focus is. */
  now(): Held | null;
  /** The cell has got the focus, or its text has. Returns what was typed for it. */
  end(): string;
}

/** What is kept for one cell. */
export interface Held {
  /** Its text will be opened. */
  editing: boolean;
  /** What was typed for its text. */
  text: string;
}

export function createHold(): Hold {
  let held: Held | null = null;
  let until = 0;
  return {
    begin(editing) {
      held = { editing, text: "" };
      until = performance.now() + holdMs;
      return held;
    },
    now: () => (performance.now() < until ? held : null),
    end() {
      const text = held?.text ?? "";
      held = null;
      return text;
    },
  };
}

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** Keeps a key for the cell. False: the browser shall do what the key does. */
export function holdKey(held: Held, { key, ctrlKey, metaKey, altKey, shiftKey }: Pressed): boolean {
  // Copying and loading anew change nothing here; pasting is held as what it pastes.
  if (ctrlKey || metaKey) return altKey || !/^[cvr]$/i.test(key);
  if (/^F\d+$/.test(key)) return false;
  if (!held.editing) {
    held.editing = key === "Enter" && !shiftKey && !altKey;
    return true;
  }
  if (key === "Enter") held.text += "\n";
  else if (key === "Backspace") held.text = [...held.text].slice(0, -1).join("");
  else if ([...key].length === 1) held.text += key;
  return true;
}
