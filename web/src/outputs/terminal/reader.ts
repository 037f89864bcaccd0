import type { Line } from "./line";
import { Terminal } from "./terminal";

/** Follows a text that grows: of each version of it only what is new is read. */
export class Reader {
  #terminal = new Terminal();
  #text = "";

  /** The lines of text. The list is the same one each time; lines that changed are other objects. */
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
