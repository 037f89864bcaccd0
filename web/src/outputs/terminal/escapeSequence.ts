// Parses terminal escape sequences.

/** A parsed escape sequence: a CSI command, a link (OSC 8), or one that is ignored ("none"). */
export type EscapeSequence =
  | { kind: "csi"; parameters: string; command: string }
  | { kind: "link"; target: string }
  | { kind: "none" };

/** Length in UTF-16 units up to which an unfinished sequence is waited for; a longer one is text. */
const maxSequenceLength = 4096;

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what is looked for
const csiPattern = /\x1b\[([0-?]*)[ -/]*([@-~])/y;
const unfinishedCsiPattern = /\x1b(?:\[[0-?]*[ -/]*)?$/y;
/** Matches OSC, DCS, APC, PM and SOS: a string that BEL or ESC \ ends. */
const stringSequencePattern = /\x1b([\]P_^X])([^\x07\x1b]*)(?:\x07|\x1b\\)/y;
const unfinishedStringSequencePattern = /\x1b[\]P_^X][^\x07\x1b]*\x1b?$/y;
/** Matches sequences without parameters: selecting a character set, or a mode by one letter. */
const shortSequencePattern = /\x1b(?:[()*+][0-9A-Za-z]|[78=>cDEHMNOZ])/y;
const unfinishedShortSequencePattern = /\x1b[()*+]$/y;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are what is looked for

/**
 * Parses the sequence that begins with the ESC at index `at`. Returns it with its length in UTF-16 units: 0 if no
 * sequence begins there, -1 if the text ends inside one and the rest may still arrive.
 */
export function parseSequenceAt(source: string, at: number): { sequence: EscapeSequence; length: number } {
  const none: EscapeSequence = { kind: "none" };
  const control = matchPatternAt(csiPattern, source, at);
  if (control) {
    const [all, parameters = "", command = ""] = control;
    return { sequence: { kind: "csi", parameters, command }, length: all.length };
  }
  const string = matchPatternAt(stringSequencePattern, source, at);
  if (string) {
    const [all, opener, content = ""] = string;
    return { sequence: opener === "]" ? parseOsc(content) : none, length: all.length };
  }
  const simple = matchPatternAt(shortSequencePattern, source, at);
  if (simple) return { sequence: none, length: simple[0].length };
  const unfinished = [unfinishedCsiPattern, unfinishedStringSequencePattern, unfinishedShortSequencePattern].some(
    (form) => matchPatternAt(form, source, at),
  );
  return { sequence: none, length: unfinished && source.length - at <= maxSequenceLength ? -1 : 0 };
}

/** Parses the content of an OSC string. OSC 8 is a link: `8;parameters;target`, where an empty target ends the link. */
function parseOsc(content: string): EscapeSequence {
  const link = /^8;[^;]*;(.*)$/s.exec(content);
  return link ? { kind: "link", target: link[1] ?? "" } : { kind: "none" };
}

/** Matches a sticky pattern at index `at`; null if it does not match there. */
function matchPatternAt(form: RegExp, source: string, at: number): RegExpExecArray | null {
  form.lastIndex = at;
  return form.exec(source);
}
