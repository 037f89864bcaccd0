import { emptyLine, erased, type Line, written } from "./line";
import { sequenceAt } from "./sequence";
import { type Style, withSgr } from "./style";

/** A cursor goes no further to the right than this by itself, so that a few bytes cannot ask for much memory. */
const widest = 512;

/** How many columns a line has, in UTF-16 units: text that goes on wraps. It bounds what one line costs. */
const columns = 2048;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;

/**
 * What a very large terminal would show of a program's text: carriage returns
 * and backspaces write over what is there, as progress bars want it, the cursor
 * goes up and lines are erased; the screen never is, so nothing printed is lost
 * by it. Text may come in any portions.
 */
export class Terminal {
  #lines: Line[] = [];
  #row = 0;
  #column = 0;
  #style: Style | null = null;
  #unfinished = "";

  /** The lines so far. A last one that is still empty is not among them. */
  get lines(): readonly Line[] {
    return this.#lines;
  }

  write(more: string): void {
    const source = this.#unfinished + more;
    this.#unfinished = "";
    let at = 0;
    while (at < source.length) {
      control.lastIndex = at;
      const next = control.exec(source)?.index ?? source.length;
      if (next > at) this.#put(source.slice(at, next));
      if (next === source.length) return;
      at = next + this.#control(source, next);
    }
  }

  /** Does what the control character at `at` asks for; returns how many units it took. */
  #control(source: string, at: number): number {
    const code = source.charCodeAt(at);
    if (code === 0x1b) return this.#escape(source, at);
    if (code === 0x0a) this.#newLine(false);
    else if (code === 0x0d) this.#column = 0;
    else if (code === 0x08) this.#column = Math.max(0, this.#column - 1);
    else if (code !== 0x07) this.#put(pictured(code));
    return 1;
  }

  #escape(source: string, at: number): number {
    const { sequence, length } = sequenceAt(source, at);
    if (length < 0) {
      this.#unfinished = source.slice(at);
      return this.#unfinished.length;
    }
    if (length === 0) {
      this.#put(pictured(0x1b));
      return 1;
    }
    if (sequence.kind === "csi") this.#csi(sequence.command, sequence.parameters);
    if (sequence.kind === "link") this.#link(sequence.target);
    return length;
  }

  #csi(command: string, parameters: string): void {
    if (command === "m") {
      if (/^[\d;:]*$/.test(parameters)) this.#style = withSgr(this.#style, parameters);
      return;
    }
    const first = Number.parseInt(parameters, 10);
    const n = Math.max(1, first || 1);
    if (command === "A" || command === "F") this.#row = Math.max(0, this.#row - n);
    if (command === "B" || command === "E")
      this.#row = Math.min(Math.max(this.#row, this.#lines.length - 1), this.#row + n);
    if (command === "E" || command === "F") this.#column = 0;
    if (command === "C") this.#column = Math.max(this.#column, Math.min(this.#column + n, widest));
    if (command === "D") this.#column = Math.max(0, this.#column - n);
    if (command === "G") this.#column = Math.min(n - 1, widest);
    if (command === "K") this.#eraseInLine(first || 0);
    if (command === "J" && !first) this.#eraseBelow();
  }

  #link(target: string): void {
    const link = /^https?:\/\/\S+$/i.test(target) && URL.canParse(target) ? target : undefined;
    if (link === undefined && this.#style === null) return;
    this.#style = { ...this.#style, link };
  }

  #put(text: string): void {
    for (let from = 0; from < text.length; ) {
      if (this.#column >= columns) this.#newLine(true);
      const part = text.slice(from, from + columns - this.#column);
      this.#change((line) => written(line, this.#column, part, this.#style));
      this.#column += part.length;
      from += part.length;
    }
  }

  #newLine(wraps: boolean): void {
    this.#change((line) => (line.wraps === wraps ? line : { ...line, wraps }));
    this.#row++;
    this.#column = 0;
  }

  #eraseInLine(how: number): void {
    if (this.#row >= this.#lines.length) return;
    const from = how === 0 ? this.#column : 0;
    const to = how === 1 ? this.#column + 1 : Number.POSITIVE_INFINITY;
    this.#change((line) => erased(line, from, to));
  }

  #eraseBelow(): void {
    this.#eraseInLine(0);
    this.#lines.length = Math.min(this.#lines.length, this.#row + 1);
  }

  /** Puts another line in the place of the one that the cursor is in. */
  #change(f: (line: Line) => Line): void {
    while (this.#lines.length <= this.#row) this.#lines.push(emptyLine);
    this.#lines[this.#row] = f(this.#lines[this.#row] ?? emptyLine);
  }
}

/** A control character that means nothing here, as something to be seen: ^@ to ^_, and ^?. */
function pictured(code: number): string {
  return code < 0x80 ? `^${String.fromCharCode(code ^ 0x40)}` : "\ufffd";
}
