import { type Entry, type Hop, type Message, readMessage } from "./messages";

/** Returns a message as the page reads it from JSON, for tests. */
export function messageFromJSON(json: unknown): Message {
  return readMessage(json) ?? { type: "other", name: "" };
}

/** Returns an entry whose message is read from JSON, for tests. */
export function entryFromJSON(seq: number, hop: Hop, json: unknown): Entry {
  return { seq, hop, msg: readMessage(json) };
}
