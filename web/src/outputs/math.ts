// Formulas, by KaTeX as MathML: no fonts, no styles. KaTeX is loaded when the
// first formula is to be drawn.

import { hushed } from "./hush";
import { parseInert } from "./inert";

/** Draws TeX, with or without the dollars around it; an Error says what is wrong with it. */
export type Typeset = (tex: string, display: boolean) => Element | Error;

const delimiters = [
  ["$$", "$$"],
  ["$", "$"],
  ["\\[", "\\]"],
  ["\\(", "\\)"],
] as const;

/** A formula of more characters is shown as its source. */
const longest = 10_000;

let loading: Promise<Typeset> | null = null;

export function loadTypeset(): Promise<Typeset> {
  loading ??= import("katex").then(({ default: katex }) => (tex, display) => {
    if (tex.length > longest) return new Error("the formula is too long");
    let markup: string;
    try {
      markup = katex.renderToString(inner(tex), {
        output: "mathml",
        displayMode: display,
        throwOnError: true,
        trust: false,
        strict: "ignore",
        maxSize: 20,
        maxExpand: 500,
      });
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
    const math = parseInert(hushed(markup)).querySelector("math");
    return math === null ? new Error("there is no formula in it") : bare(math);
  });
  loading.catch(() => {
    loading = null; // so that the next formula tries again
  });
  return loading;
}

/** The formula without what says that it is one. */
function inner(source: string): string {
  const text = source.trim();
  for (const [opener, closer] of delimiters) {
    const fits = text.startsWith(opener) && text.endsWith(closer) && text.length >= opener.length + closer.length;
    if (fits) return text.slice(opener.length, text.length - closer.length);
  }
  return text;
}

/** Math without what could lead anywhere or hide something: the source as an annotation, styles, links. */
function bare(math: Element): Element {
  for (const annotation of math.querySelectorAll("annotation")) annotation.remove();
  for (const element of [math, ...math.querySelectorAll("*")]) {
    for (const { name } of [...element.attributes]) {
      if (/^(?:on|data-|style$|class$|id$|href$|xlink:|src$)/i.test(name)) element.removeAttribute(name);
    }
  }
  return math;
}

/** Formulas of one text that are drawn; more stay their sources, for each takes its time. */
const most = 2000;

/** Puts formulas in the place of their sources, which sanitised Markdown has in elements of these two classes. */
export async function typesetIn(place: Element): Promise<void> {
  const sources = [...place.querySelectorAll(".math-inline, .math-block")].slice(0, most);
  if (sources.length === 0) return;
  const typeset = await loadTypeset();
  for (const source of sources) {
    const math = typeset(source.textContent ?? "", source.classList.contains("math-block"));
    if (math instanceof Error) source.setAttribute("title", math.message);
    else source.replaceChildren(math);
  }
}
