// Turns untrusted HTML into nodes without scripts, styles or forms, which load nothing. All
// untrusted HTML that is inserted into the page goes through sanitizeHtml.

import createPurifier, { type Config } from "dompurify";
import { plainName } from "../text/displayText";
import { externalUrlOf } from "./externalUrl";
import { maskHtml } from "./maskHtml";

/** Elements that sanitized HTML may have. */
const allowedTags = new Set(
  (
    "a abbr address article aside b bdi bdo blockquote br caption center cite code col colgroup dd del details dfn div dl dt em " +
    "figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s samp section " +
    "small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr"
  ).split(" "),
);

/** Attributes that elements of sanitized HTML may have. */
const allowedAttributes = new Set(
  (
    "href src alt title class colspan rowspan span scope align valign start reversed open dir lang datetime abbr width height " +
    "type value"
  ).split(" "),
);

/** Elements that are removed together with their text. */
const droppedTags =
  "script style template noscript noembed noframes iframe xmp plaintext title textarea select svg math";

/** Classes that sanitized HTML may use. Others are removed: they could make untrusted text look like a part of the page. */
const allowedClasses = new Set(["dataframe", "math-inline", "math-block"]);

/** Matches data: URLs of pictures, which need no request. SVG is not included. */
const inlinePicturePattern = /^data:image\/(?:png|jpeg|gif|webp|avif|bmp);base64,[a-z0-9+/=\s]*$/i;

const purifierConfig: Config & { RETURN_DOM_FRAGMENT: true } = {
  ALLOWED_TAGS: [...allowedTags],
  ALLOWED_ATTR: [...allowedAttributes],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  FORBID_ATTR: ["style", "id", "name"],
  FORBID_CONTENTS: droppedTags.split(" "),
  SANITIZE_NAMED_PROPS: true,
  RETURN_DOM_FRAGMENT: true,
};

const purifier = createPurifier(window);
// Before DOMPurify removes an image's address, so that the replacement text can name it.
purifier.addHook("beforeSanitizeAttributes", (element) => {
  if (element.localName === "img") removeExternalImageSource(element);
});

/**
 * Returns untrusted HTML as safe nodes. They belong to a document without a window, so nothing
 * is loaded before they are inserted. Images that would be loaded become text. Throws if the HTML is nested too deeply.
 */
export function sanitizeHtml(html: string): DocumentFragment {
  const fragment = purifier.sanitize(maskHtml(html), purifierConfig);
  for (const element of fragment.querySelectorAll("*")) removeDisallowed(element);
  for (const link of fragment.querySelectorAll("a")) restrictLink(link);
  for (const image of fragment.querySelectorAll("img")) removeExternalImageSource(image);
  for (const image of fragment.querySelectorAll("img:not([src])")) image.replaceWith(`[${image.getAttribute("alt")}]`);
  for (const element of fragment.querySelectorAll("[class]")) removeUnknownClasses(element);
  return fragment;
}

/** Removes an element or attributes that are not allowed, in case DOMPurify ever lets one through. */
function removeDisallowed(element: Element): void {
  if (!allowedTags.has(element.localName) || element.namespaceURI !== "http://www.w3.org/1999/xhtml") {
    element.remove();
    return;
  }
  for (const { name } of [...element.attributes]) {
    if (!allowedAttributes.has(name)) element.removeAttribute(name);
  }
}

/** Makes a web or mail link open in a new tab without opener or referrer. Any other link loses its address, which is appended as text. */
function restrictLink(link: Element): void {
  const href = link.getAttribute("href");
  if (href === null) return;
  const url = externalUrlOf(href);
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

/** Removes the address of an image that would be loaded from elsewhere, and writes the address into the alternative text. */
function removeExternalImageSource(image: Element): void {
  const src = image.getAttribute("src");
  if (src === null ? image.hasAttribute("alt") : inlinePicturePattern.test(src)) return;
  image.removeAttribute("src");
  const names = [image.getAttribute("alt"), src?.startsWith("data:") ? null : src];
  const known = names.filter((name) => typeof name === "string" && name !== "").map((name) => plainName(name));
  image.setAttribute("alt", known.length > 0 ? `image not loaded: ${known.join(", ")}` : "image not loaded");
}

/** Removes from an element all classes that sanitized HTML may not use. */
function removeUnknownClasses(element: Element): void {
  const known = [...element.classList].filter((name) => allowedClasses.has(name));
  if (known.length > 0) element.setAttribute("class", known.join(" "));
  else element.removeAttribute("class");
}
