// Buffers keys that are pressed after a change of the notebook was requested and before it is on
// screen: they are meant for the changed notebook.

import { keyName, type KeyFields as Named } from "./keyName";

/**
 * How many milliseconds keys are buffered for a change of the notebook. After that they go to the
 * focused element, even if the change has not arrived.
 */
const bufferTimeoutMs = 5000;

/** A key press, or a paste, that waits in the buffer. */
export interface BufferedKey {
  /** The key's name as keyName returns it; "Paste" for a paste. */
  name: string;
  /** The text it types, "\b" for Backspace; null: none. */
  text: string | null;
  /** Time stamp of the event in milliseconds. */
  at: number;
}

export interface KeyBuffer {
  /** Starts buffering for a new change. Keys buffered for an earlier change are dropped. */
  start(): BufferedKeyBatch;
  /** Returns the current buffer; null if keys are not buffered. */
  current(): BufferedKeyBatch | null;
  /** Reports, once, whether the time ran out while keys were buffered. */
  takeTimeout(): boolean;
  /** Stops buffering and returns the buffered keys. */
  stop(): BufferedKey[];
}

export interface BufferedKeyBatch {
  keys: BufferedKey[];
}

export function createKeyBuffer(): KeyBuffer {
  let batch: BufferedKeyBatch = { keys: [] };
  let deadline = 0;
  const isActive = () => performance.now() < deadline;
  return {
    start() {
      batch = { keys: [] };
      deadline = performance.now() + bufferTimeoutMs;
      return batch;
    },
    current: () => (isActive() ? batch : null),
    takeTimeout() {
      if (isActive() || batch.keys.length === 0) return false;
      batch = { keys: [] };
      return true;
    },
    stop() {
      const steps = isActive() ? batch.keys : [];
      batch = { keys: [] };
      deadline = 0;
      return steps;
    },
  };
}

type BufferableKeyEvent = Named & Pick<KeyboardEvent, "repeat" | "timeStamp">;

/**
 * Adds a key to the batch of buffered keys. Returns false if the browser should handle the key
 * instead: function keys, copy, paste and reload.
 */
export function bufferKey({ keys }: BufferedKeyBatch, event: BufferableKeyEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, repeat, timeStamp } = event;
  // Copy and reload change nothing here; a paste is buffered with its text.
  if ((ctrlKey || metaKey) && !altKey && /^[cvr]$/i.test(key)) return false;
  if (/^F\d+$/.test(key)) return false;
  const text = ctrlKey || metaKey ? null : typedTextOfKey(key);
  // A repeated key types its text again, but does not repeat a command.
  if (!repeat || text !== null) keys.push({ name: keyName(event), text, at: timeStamp });
  return true;
}

function typedTextOfKey(key: string): string | null {
  if (key === "Enter") return "\n";
  if (key === "Backspace") return "\b";
  return [...key].length === 1 ? key : null;
}

/** Returns the text that a sequence of buffered keys types; Backspace removes the character before it. */
export function typedTextOfKeys(steps: readonly BufferedKey[]): string {
  let text = "";
  for (const step of steps) text = step.text === "\b" ? [...text].slice(0, -1).join("") : text + (step.text ?? "");
  return text;
}
