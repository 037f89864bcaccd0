// Escape sequences of terminals, told apart from text.

/** What an escape sequence asks for. */
export type Sequence =
  | { kind: "csi"; parameters: string; command: string }
  | { kind: "link"; target: string }
  | { kind: "none" };

/** A sequence that is longer is none. */
const longest = 4096;

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what is looked for
const csi = /\x1b\[([0-?]*)[ -/]*([@-~])/y;
const unfinishedCsi = /\x1b(?:\[[0-?]*[ -/]*)?$/y;
/** OSC, DCS, APC, PM and SOS: a text that BEL or ESC \ ends. */
const text = /\x1b([\]P_^X])([^\x07\x1b]*)(?:\x07|\x1b\\)/y;
const unfinishedText = /\x1b[\]P_^X][^\x07\x1b]*\x1b?$/y;
/** A set of characters, or a mode by one letter. */
const short = /\x1b(?:[()*+][0-9A-Za-z]|[78=>cDEHMNOZ])/y;
const unfinishedShort = /\x1b[()*+]$/y;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are what is looked for

/**
 * The sequence that begins with the ESC at `at`, and how long it is: 0 when none
 * does, -1 when the text ends inside of it and more may come.
 */
export function sequenceAt(source: string, at: number): { sequence: Sequence; length: number } {
  const none: Sequence = { kind: "none" };
  const control = match(csi, source, at);
  if (control) {
    const [all, parameters = "", command = ""] = control;
    return { sequence: { kind: "csi", parameters, command }, length: all.length };
  }
  const string = match(text, source, at);
  if (string) {
    const [all, opener, content = ""] = string;
    return { sequence: opener === "]" ? osc(content) : none, length: all.length };
  }
  const simple = match(short, source, at);
  if (simple) return { sequence: none, length: simple[0].length };
  const unfinished = [unfinishedCsi, unfinishedText, unfinishedShort].some((form) => match(form, source, at));
  return { sequence: none, length: unfinished && source.length - at <= longest ? -1 : 0 };
}

/** OSC 8 is a link: parameters, then where it leads; nothing there ends it. */
function osc(content: string): Sequence {
  const link = /^8;[^;]*;(.*)$/s.exec(content);
  return link ? { kind: "link", target: link[1] ?? "" } : { kind: "none" };
}

function match(form: RegExp, source: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(source);
}
