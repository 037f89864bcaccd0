// Decides whether HTML of an output can be shown in the page, or must go into a sandboxed
// frame because it needs scripts or styles.

import { plainName } from "../text/displayText";
import { maskAttributeName, maskHtml, unmaskAttributeName, unmaskTagName } from "./maskHtml";
import { parseInertHtml } from "./parseInertHtml";

/** What HTML needs to be displayed as its author intended. */
export interface HtmlRequirements {
  /** It has scripts, styles, forms or drawings, and must be shown in a sandboxed frame. */
  needsFrame: boolean;
  /** The first 5 addresses that the HTML loads from; the page never loads them, and names them below the output. */
  externalSources: readonly string[];
}

/** Elements that look right in the page without scripts or styles. */
const plainTags = new Set(
  (
    "html head body meta title a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del " +
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i iframe img ins kbd li main mark nav ol p pre q " +
    "rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
  ).split(" "),
);

/** Matches style attributes that change nothing: only alignments, which this page's style sheet sets for tables anyway. */
const harmlessStylePattern = /^\s*(?:(?:text-align|vertical-align)\s*:\s*[\w-]+\s*;?\s*)*$/i;

/** How many addresses are named below an output. */
const maxExternalSources = 5;

/** Parses HTML, without running or loading anything, and returns what it needs to be displayed. */
export function htmlRequirementsOf(html: string): HtmlRequirements {
  const content = parseInertHtml(maskHtml(html));
  let needsFrame = false;
  const externalSources = new Set<string>();
  for (const element of content.querySelectorAll("*")) {
    needsFrame ||= !isPlainElement(element);
    const source = externalSourceOf(element);
    if (source !== null && externalSources.size < maxExternalSources) externalSources.add(plainName(source));
  }
  return { needsFrame, externalSources: [...externalSources] };
}

/** Reports whether an element looks right in the page: a known element without event handlers or visible styles. */
function isPlainElement(element: Element): boolean {
  const tag = unmaskTagName(element.localName);
  if (tag === "style") return element.hasAttribute("scoped"); // the style of pandas' tables, which this page's tables have too
  if (!plainTags.has(tag)) return false;
  return [...element.attributes].every((attribute) => {
    const name = unmaskAttributeName(attribute.name);
    return name === "style" ? harmlessStylePattern.test(attribute.value) : !name.startsWith("on");
  });
}

/** Returns the address that an element loads from; null if there is none, or it is a data:, blob: or fragment address. */
function externalSourceOf(element: Element): string | null {
  if (element.localName === "a" || element.localName === "base" || element.localName === "form") return null;
  const source =
    element.getAttribute("src") ??
    element.getAttribute(maskAttributeName("src")) ??
    element.getAttribute("href") ??
    element.getAttribute("data");
  return source === null || /^(?:\s*(?:data|blob|javascript|about):|#|\s*$)/i.test(source) ? null : source;
}
