// Converts Markdown to HTML. The result is not safe yet: the caller must sanitize it.

import { Marked, type TokenizerAndRendererExtension } from "marked";
import { escapeUnknownTags, startsWithUnknownTag } from "./htmlElementNames";

/** Marked extension for formulas in a line: $tex$ or $$tex$$. A "$" followed by a digit does not close one, so that prices stay text. */
const inlineMath: TokenizerAndRendererExtension = {
  name: "inlineMath",
  level: "inline",
  start: (source) => source.indexOf("$"),
  tokenizer(source) {
    const found = /^\$\$([^$]+)\$\$|^\$(?!\s)(?:\\.|[^\\$\n])+?(?<!\s)\$(?!\d)/.exec(source);
    if (found === null) return undefined;
    return { type: "inlineMath", raw: found[0], display: found[1] !== undefined };
  },
  renderer: ({ raw, display }) => mathElementHtml("span", raw, display),
};

/** Marked extension for formulas that are a whole paragraph: $$tex$$. */
const blockMath: TokenizerAndRendererExtension = {
  name: "blockMath",
  level: "block",
  start: (source) => source.indexOf("$$"),
  tokenizer(source) {
    const found = /^ {0,3}\$\$(?:\\.|[^\\$])+\$\$[ \t]*(?:\n|$)/.exec(source);
    if (found === null) return undefined;
    return { type: "blockMath", raw: found[0] };
  },
  renderer: ({ raw }) => mathElementHtml("div", raw, true),
};

const markdownParser = new Marked({
  gfm: true,
  async: false,
  extensions: [inlineMath, blockMath],
  // A block that begins with a tag that is not HTML is a paragraph, so Markdown inside it is rendered.
  tokenizer: { html: (source) => (startsWithUnknownTag(source) ? undefined : false) },
  renderer: { checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), html: ({ text }) => escapeUnknownTags(text) },
});

/**
 * Converts Markdown (GitHub's dialect) to HTML that must still be sanitized. Formulas become elements of the
 * classes math-inline and math-block which contain their TeX. Throws if the source is nested too deeply.
 */
export function markdownToHtml(source: string): string {
  return markdownParser.parse(source, { async: false });
}

/** Returns HTML of an element that contains the TeX of a formula, for typesetFormulasIn to replace. */
function mathElementHtml(tag: string, tex: string, display: boolean): string {
  return `<${tag} class="math-${display ? "block" : "inline"}">${escapeHtml(tex)}</${tag}>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
