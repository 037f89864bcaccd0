import type { Line } from "./line";
import { Terminal } from "./terminal";

/** Converts a growing text to terminal lines. Interprets only what was appended since the last call. */
export class TerminalReader {
  #terminal = new Terminal();
  #text = "";

  /**
   * Returns the lines of a text. If it does not begin with the text of the last call, it is interpreted from its
   * beginning. Otherwise the same list is returned, changed in place, with new objects for changed lines.
   */
  read(text: string): readonly Line[] {
    if (!text.startsWith(this.#text)) {
      this.#terminal = new Terminal();
      this.#text = "";
    }
    this.#terminal.write(text.slice(this.#text.length));
    this.#text = text;
    return this.#terminal.lines;
  }
}
