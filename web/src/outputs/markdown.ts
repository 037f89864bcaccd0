// Markdown to HTML that is still to be sanitised.

import { Marked, type TokenizerAndRendererExtension } from "marked";
import { startsUnknown, unknownAsText } from "./elements";

/** Text between dollars. A digit behind the second one makes it money. */
const inlineMath: TokenizerAndRendererExtension = {
  name: "inlineMath",
  level: "inline",
  start: (source) => source.indexOf("$"),
  tokenizer(source) {
    const found = /^\$\$([^$]+)\$\$|^\$(?!\s)(?:\\.|[^\\$\n])+?(?<!\s)\$(?!\d)/.exec(source);
    if (found === null) return undefined;
    return { type: "inlineMath", raw: found[0], display: found[1] !== undefined };
  },
  renderer: ({ raw, display }) => mathHtml("span", raw, display),
};

/** A paragraph of its own between double dollars. */
const blockMath: TokenizerAndRendererExtension = {
  name: "blockMath",
  level: "block",
  start: (source) => source.indexOf("$$"),
  tokenizer(source) {
    const found = /^ {0,3}\$\$(?:\\.|[^\\$])+\$\$[ \t]*(?:\n|$)/.exec(source);
    if (found === null) return undefined;
    return { type: "blockMath", raw: found[0] };
  },
  renderer: ({ raw }) => mathHtml("div", raw, true),
};

const marked = new Marked({
  gfm: true,
  async: false,
  extensions: [inlineMath, blockMath],
  // A block that begins with a tag that is no HTML is a paragraph: what is in it is Markdown.
  tokenizer: { html: (source) => (startsUnknown(source) ? undefined : false) },
  renderer: { checkbox: ({ checked }) => (checked ? "☑ " : "☐ "), html: ({ text }) => unknownAsText(text) },
});

export function markdownHtml(source: string): string {
  return marked.parse(source, { async: false });
}

function mathHtml(tag: string, tex: string, display: boolean): string {
  return `<${tag} class="math-${display ? "block" : "inline"}">${escaped(tex)}</${tag}>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
