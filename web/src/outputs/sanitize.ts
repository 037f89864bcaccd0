// Turns HTML that a stranger wrote into nodes that can do nothing: no scripts,
// no styles, no forms, no request to anywhere. Everything of the page that shows
// such HTML comes through here.

import createPurifier, { type Config } from "dompurify";
import { plainName } from "../text/displayText";
import { hushed } from "./hush";
import { outside } from "./links";

const tags = new Set(
  (
    "a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del details dfn div dl dt em " +
    "figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s samp section " +
    "small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
  ).split(" "),
);

const attributes = new Set(
  (
    "href src alt title class colspan rowspan span scope align valign start reversed open dir lang datetime abbr width height " +
    "type value"
  ).split(" "),
);

/** Of these not even the text is kept. */
const dropped = "script style template noscript noembed noframes iframe xmp plaintext title textarea select svg math";

/** Classes that our own style sheets mean; any other could dress a stranger's text up as the page's. */
const classes = new Set(["dataframe", "math-inline", "math-block"]);

/** Pictures that need no request. SVG is not among them: it is shown as an output of its own. */
const picture = /^data:image\/(?:png|jpeg|gif|webp|avif|bmp);base64,[a-z0-9+/=\s]*$/i;

const config: Config & { RETURN_DOM_FRAGMENT: true } = {
  ALLOWED_TAGS: [...tags],
  ALLOWED_ATTR: [...attributes],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  FORBID_ATTR: ["style", "id", "name"],
  FORBID_CONTENTS: dropped.split(" "),
  SANITIZE_NAMED_PROPS: true,
  RETURN_DOM_FRAGMENT: true,
};

const purifier = createPurifier(window);
// Here an image still has the address that is to be named.
purifier.addHook("beforeSanitizeAttributes", (element) => {
  if (element.localName === "img") tameImage(element);
});

/** Nodes of a document that is in no window: nothing of them is fetched until they are put in. */
export function sanitize(html: string): DocumentFragment {
  const fragment = purifier.sanitize(hushed(html), config);
  for (const element of fragment.querySelectorAll("*")) check(element);
  for (const link of fragment.querySelectorAll("a")) tameLink(link);
  for (const image of fragment.querySelectorAll("img")) tameImage(image);
  for (const image of fragment.querySelectorAll("img:not([src])")) image.replaceWith(`[${image.getAttribute("alt")}]`);
  for (const element of fragment.querySelectorAll("[class]")) tameClass(element);
  return fragment;
}

/** Asks once more what the purifier has been asked: should it ever let something through, it ends here. */
function check(element: Element): void {
  if (!tags.has(element.localName) || element.namespaceURI !== "http://www.w3.org/1999/xhtml") {
    element.remove();
    return;
  }
  for (const { name } of [...element.attributes]) {
    if (!attributes.has(name)) element.removeAttribute(name);
  }
}

/** A link opens a tab of its own, which knows nothing of this page; one that leads nowhere becomes its text. */
function tameLink(link: Element): void {
  const href = link.getAttribute("href");
  if (href === null) return;
  const url = outside(href);
  if (url !== null) {
    link.setAttribute("href", url);
    link.setAttribute("rel", "noopener noreferrer");
    link.setAttribute("target", "_blank");
    return;
  }
  link.removeAttribute("href");
  const name = plainName(href);
  if (!href.startsWith("#") && link.textContent?.trim() !== href) link.append(` (${name})`);
}

/** A picture that would have to be fetched loses its address, which is left to be read. */
function tameImage(image: Element): void {
  const src = image.getAttribute("src");
  if (src === null ? image.hasAttribute("alt") : picture.test(src)) return;
  image.removeAttribute("src");
  const names = [image.getAttribute("alt"), src?.startsWith("data:") ? null : src];
  const known = names.filter((name) => typeof name === "string" && name !== "").map((name) => plainName(name));
  image.setAttribute("alt", known.length > 0 ? `image not loaded: ${known.join(", ")}` : "image not loaded");
}

function tameClass(element: Element): void {
  const known = [...element.classList].filter((name) => classes.has(name));
  if (known.length > 0) element.setAttribute("class", known.join(" "));
  else element.removeAttribute("class");
}
