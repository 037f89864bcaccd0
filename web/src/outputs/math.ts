// Renders formulas with KaTeX as MathML, which needs no fonts or styles. KaTeX is loaded when
// the first formula is rendered.

import { maskHtml } from "./maskHtml";
import { parseInertHtml } from "./parseInertHtml";

/** Renders TeX, with or without delimiters around it, as a MathML element; returns an Error if the TeX is invalid or too long. display: as a block. */
export type FormulaTypesetter = (tex: string, display: boolean) => Element | Error;

/** Pairs of delimiters that may surround TeX. */
const mathDelimiters = [
  ["$$", "$$"],
  ["$", "$"],
  ["\\[", "\\]"],
  ["\\(", "\\)"],
] as const;

/** Length in UTF-16 units of the longest formula that is rendered; longer ones are shown as source. */
const maxFormulaLength = 10_000;

/** The typesetter, loading or loaded; null: not requested yet, or loading failed. */
let typesetterPromise: Promise<FormulaTypesetter> | null = null;

/** Loads KaTeX once. The promise rejects if it cannot be loaded; the next call then tries again. */
export function loadFormulaTypesetter(): Promise<FormulaTypesetter> {
  typesetterPromise ??= import("katex").then(({ default: katex }) => (tex, display) => {
    if (tex.length > maxFormulaLength) return new Error("the formula is too long");
    let markup: string;
    try {
      markup = katex.renderToString(stripMathDelimiters(tex), {
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
    const math = parseInertHtml(maskHtml(markup)).querySelector("math");
    return math === null ? new Error("there is no formula in it") : removeLinksAndStyles(math);
  });
  typesetterPromise.catch(() => {
    typesetterPromise = null; // the next formula tries again
  });
  return typesetterPromise;
}

/** Returns TeX without the delimiters around it. */
function stripMathDelimiters(source: string): string {
  const text = source.trim();
  for (const [opener, closer] of mathDelimiters) {
    const fits = text.startsWith(opener) && text.endsWith(closer) && text.length >= opener.length + closer.length;
    if (fits) return text.slice(opener.length, text.length - closer.length);
  }
  return text;
}

/** Removes from a MathML element the TeX annotation and all links, styles, ids and event handlers; returns the element. */
function removeLinksAndStyles(math: Element): Element {
  for (const annotation of math.querySelectorAll("annotation")) annotation.remove();
  for (const element of [math, ...math.querySelectorAll("*")]) {
    for (const { name } of [...element.attributes]) {
      if (/^(?:on|data-|style$|class$|id$|href$|xlink:|src$)/i.test(name)) element.removeAttribute(name);
    }
  }
  return math;
}

/** How many formulas of one text are rendered; the others stay as source, to limit the time. */
const maxFormulas = 2000;

/**
 * Replaces the TeX in elements of the classes math-inline and math-block by rendered formulas. An invalid formula stays
 * as source, with the error as its title. Rejects if KaTeX cannot be loaded.
 */
export async function typesetFormulasIn(place: Element): Promise<void> {
  const sources = [...place.querySelectorAll(".math-inline, .math-block")].slice(0, maxFormulas);
  if (sources.length === 0) return;
  const typeset = await loadFormulaTypesetter();
  for (const source of sources) {
    const math = typeset(source.textContent ?? "", source.classList.contains("math-block"));
    if (math instanceof Error) source.setAttribute("title", math.message);
    else source.replaceChildren(math);
  }
}
