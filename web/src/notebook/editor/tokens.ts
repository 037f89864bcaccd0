import type { Language } from "@codemirror/language";
import { classHighlighter, highlightCode } from "@lezer/highlight";

/** A piece of code with one style; classes are CodeMirror's CSS classes, "" for plain text. */
export interface Token {
  text: string;
  classes: string;
}

/** Splits code into as few tokens as possible for highlighting; one token if language is null. */
export function tokensOf(code: string, language: Language | null): Token[] {
  if (language === null) return [{ text: code, classes: "" }];
  const tokens: Token[] = [];
  const put = (text: string, classes: string) => {
    const last = tokens.at(-1);
    if (last?.classes === classes) last.text += text;
    else tokens.push({ text, classes });
  };
  highlightCode(code, language.parser.parse(code), classHighlighter, put, () => put("\n", ""));
  return tokens;
}
