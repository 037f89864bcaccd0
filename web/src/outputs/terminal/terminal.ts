import { parseSequenceAt } from "./escapeSequence";
import { emptyLine, eraseColumns, type Line, writeText } from "./line";
import { applySgr, type TextStyle } from "./textStyle";

/** Column up to which escape sequences can move the cursor, so that a few bytes cannot allocate much memory. */
const maxCursorColumn = 512;

/** Length in UTF-16 units at which a line wraps, which limits the cost of changing one line. */
const maxLineLength = 2048;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const controlCharacterPattern = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;

/**
 * Interprets a program's output as a terminal of unlimited height does. Carriage returns and
 * backspaces overwrite text, as progress bars need; escape sequences move the cursor and erase
 * lines. Clearing the screen is ignored, so that no printed text is lost by it. Output may be
 * written in pieces of any size.
 */
export class Terminal {
  #lines: Line[] = [];
  #row = 0;
  #column = 0;
  #style: TextStyle | null = null;
  #unfinished = "";

  /** The lines written so far, without a last line that is still empty. The list is changed in place by later writes. */
  get lines(): readonly Line[] {
    return this.#lines;
  }

  /** Interprets more output. An escape sequence may be split between two calls. */
  write(more: string): void {
    const source = this.#unfinished + more;
    this.#unfinished = "";
    let at = 0;
    while (at < source.length) {
      controlCharacterPattern.lastIndex = at;
      const next = controlCharacterPattern.exec(source)?.index ?? source.length;
      if (next > at) this.#putText(source.slice(at, next));
      if (next === source.length) return;
      at = next + this.#handleControl(source, next);
    }
  }

  /** Handles the control character at index `at`; returns how many UTF-16 units were consumed. */
  #handleControl(source: string, at: number): number {
    const code = source.charCodeAt(at);
    if (code === 0x1b) return this.#handleEscape(source, at);
    if (code === 0x0a) this.#newLine(false);
    else if (code === 0x0d) this.#column = 0;
    else if (code === 0x08) this.#column = Math.max(0, this.#column - 1);
    else if (code !== 0x07) this.#putText(visibleControlCharacterText(code));
    return 1;
  }

  /** Handles the escape sequence at index `at`; returns how many UTF-16 units were consumed. An unfinished one is kept for the next write. */
  #handleEscape(source: string, at: number): number {
    const { sequence, length } = parseSequenceAt(source, at);
    if (length < 0) {
      this.#unfinished = source.slice(at);
      return this.#unfinished.length;
    }
    if (length === 0) {
      this.#putText(visibleControlCharacterText(0x1b));
      return 1;
    }
    if (sequence.kind === "csi") this.#handleCsi(sequence.command, sequence.parameters);
    if (sequence.kind === "link") this.#setLink(sequence.target);
    return length;
  }

  /** Applies a CSI command: styles, cursor movements, erasing. Others are ignored. */
  #handleCsi(command: string, parameters: string): void {
    if (command === "m") {
      if (/^[\d;:]*$/.test(parameters)) this.#style = applySgr(this.#style, parameters);
      return;
    }
    const first = Number.parseInt(parameters, 10);
    const n = Math.max(1, first || 1);
    if (command === "A" || command === "F") this.#row = Math.max(0, this.#row - n);
    if (command === "B" || command === "E")
      this.#row = Math.min(Math.max(this.#row, this.#lines.length - 1), this.#row + n);
    if (command === "E" || command === "F") this.#column = 0;
    if (command === "C") this.#column = Math.max(this.#column, Math.min(this.#column + n, maxCursorColumn));
    if (command === "D") this.#column = Math.max(0, this.#column - n);
    if (command === "G") this.#column = Math.min(n - 1, maxCursorColumn);
    if (command === "K") this.#eraseInLine(first || 0);
    if (command === "J" && !first) this.#eraseBelow();
  }

  /** Makes the text that follows a link to an http or https URL; any other target ends the link. */
  #setLink(target: string): void {
    const link = /^https?:\/\/\S+$/i.test(target) && URL.canParse(target) ? target : undefined;
    if (link === undefined && this.#style === null) return;
    this.#style = { ...this.#style, link };
  }

  /** Writes text at the cursor and moves the cursor behind it. Long text wraps. */
  #putText(text: string): void {
    for (let from = 0; from < text.length; ) {
      if (this.#column >= maxLineLength) this.#newLine(true);
      const part = text.slice(from, from + maxLineLength - this.#column);
      this.#replaceCurrentLine((line) => writeText(line, this.#column, part, this.#style));
      this.#column += part.length;
      from += part.length;
    }
  }

  /** Moves the cursor to the beginning of the next line. isWrapped: because the line is full, not for a line break. */
  #newLine(isWrapped: boolean): void {
    this.#replaceCurrentLine((line) => (line.isWrapped === isWrapped ? line : { ...line, isWrapped }));
    this.#row++;
    this.#column = 0;
  }

  /** Erases a part of the cursor's line: mode 0 from the cursor on, 1 up to the cursor, 2 all of it. */
  #eraseInLine(mode: number): void {
    if (this.#row >= this.#lines.length) return;
    const from = mode === 0 ? this.#column : 0;
    const to = mode === 1 ? this.#column + 1 : Number.POSITIVE_INFINITY;
    this.#replaceCurrentLine((line) => eraseColumns(line, from, to));
  }

  /** Erases the line from the cursor on, and all lines below. */
  #eraseBelow(): void {
    this.#eraseInLine(0);
    this.#lines.length = Math.min(this.#lines.length, this.#row + 1);
  }

  /** Replaces the cursor's line by what f returns for it. Missing lines are added first. */
  #replaceCurrentLine(f: (line: Line) => Line): void {
    while (this.#lines.length <= this.#row) this.#lines.push(emptyLine);
    this.#lines[this.#row] = f(this.#lines[this.#row] ?? emptyLine);
  }
}

/** Returns visible text for a control character that is not interpreted: "^@" to "^_", "^?", or U+FFFD for U+0080 and above. */
function visibleControlCharacterText(code: number): string {
  return code < 0x80 ? `^${String.fromCharCode(code ^ 0x40)}` : "\ufffd";
}
