// Looks at HTML before it is shown: can it be shown as it is in the page, or does
// it need scripts or styles, and with them a frame of its own?

import { plainName } from "../text/displayText";
import { hushed, hushedName, unhushed, unhushedTag } from "./hush";
import { parseInert } from "./inert";

/** What HTML needs to look as it was meant. */
export interface Needs {
  /** Scripts, styles, or drawings: it goes into a sandboxed frame. */
  frame: boolean;
  /** Names of what would have to be fetched from somewhere, which never happens. */
  outside: readonly string[];
}

const plain = new Set(
  (
    "html head body meta title a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del " +
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i iframe img ins kbd li main mark nav ol p pre q " +
    "rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
  ).split(" "),
);

/** Styles that tables have in our style sheet anyway. */
const harmlessStyle = /^\s*(?:(?:text-align|vertical-align)\s*:\s*[\w-]+\s*;?\s*)*$/i;

const mostNames = 5;

export function needsOf(html: string): Needs {
  const content = parseInert(hushed(html));
  let frame = false;
  const outside = new Set<string>();
  for (const element of content.querySelectorAll("*")) {
    frame ||= !isPlain(element);
    const source = sourceOf(element);
    if (source !== null && outside.size < mostNames) outside.add(plainName(source));
  }
  return { frame, outside: [...outside] };
}

function isPlain(element: Element): boolean {
  const tag = unhushedTag(element.localName);
  if (tag === "style") return element.hasAttribute("scoped"); // pandas' own, as our tables look
  if (!plain.has(tag)) return false;
  return [...element.attributes].every((attribute) => {
    const name = unhushed(attribute.name);
    return name === "style" ? harmlessStyle.test(attribute.value) : !name.startsWith("on");
  });
}

/** The address that an element would be fetched from; null: none. */
function sourceOf(element: Element): string | null {
  if (element.localName === "a" || element.localName === "base" || element.localName === "form") return null;
  const source =
    element.getAttribute("src") ??
    element.getAttribute(hushedName("src")) ??
    element.getAttribute("href") ??
    element.getAttribute("data");
  return source === null || /^(?:\s*(?:data|blob|javascript|about):|#|\s*$)/i.test(source) ? null : source;
}
