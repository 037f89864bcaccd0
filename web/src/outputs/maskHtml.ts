// Masks HTML before it is parsed: renames the scripts, styles, event handlers and subtitles
// that the page's Content-Security-Policy forbids. The browser would log an error for each of them,
// even in HTML that is only inspected or is about to be sanitized. Style elements become noframes,
// which is parsed in the same way; scripts become noembed, which is parsed almost in the same way.
// Masking only keeps the console readable. It is not a protection: the sanitizer removes
// whatever masking misses.

/** Prefix of the names of masked attributes. */
const maskPrefix = "data-was-";

const styleTagPattern = /<(\/?)style(?![\w-])/gi;
const scriptTagPattern = /<(\/?)script(?![\w-])/gi;
/** Matches a whole opening tag; quoted attribute values may contain ">". */
const openingTagPattern = /<[a-z](?:=\s*(?:"[^"]*"|'[^']*')|[^<>])*/gi;
/** Matches a quoted attribute value (captured, to be skipped), or the name of a style or event handler attribute. */
const maskedAttributePattern = /(=\s*(?:"[^"]*"|'[^']*'))|(?<=[\s/"'])(style|on[a-z]+)(?=\s*=)/gi;
/** Like maskedAttributePattern, and also matches `src`: for track elements, whose subtitles are loaded at once. */
const maskedTrackAttributePattern = /(=\s*(?:"[^"]*"|'[^']*'))|(?<=[\s/"'])(style|on[a-z]+|src)(?=\s*=)/gi;

/** Returns HTML in which forbidden elements and attributes are masked, so that the browser logs no policy errors for them. */
export function maskHtml(html: string): string {
  return html
    .replace(styleTagPattern, "<$1noframes")
    .replace(scriptTagPattern, "<$1noembed")
    .replace(openingTagPattern, (tag) =>
      tag.replace(
        /^<track\b/i.test(tag) ? maskedTrackAttributePattern : maskedAttributePattern,
        (whole, quoted: string | undefined) => (quoted === undefined ? `${maskPrefix}${whole}` : whole),
      ),
    );
}

/** Masks the addresses of subtitle tracks, except data: URLs, in HTML for a frame, whose policy would refuse to load them. */
export function maskTrackSources(html: string): string {
  return html.replace(openingTagPattern, (tag) => {
    if (!/^<track\b/i.test(tag) || /\ssrc\s*=\s*["']?\s*data:/i.test(tag)) return tag;
    return tag.replace(maskedTrackAttributePattern, (whole, quoted: string | undefined) =>
      quoted === undefined && whole.toLowerCase() === "src" ? `${maskPrefix}${whole}` : whole,
    );
  });
}

/** Returns the original name of an element of masked HTML. */
export function unmaskTagName(name: string): string {
  if (name === "noembed") return "script";
  return name === "noframes" ? "style" : name;
}

/** Returns the original name of an attribute of masked HTML. */
export function unmaskAttributeName(name: string): string {
  return name.startsWith(maskPrefix) ? name.slice(maskPrefix.length) : name;
}

/** Returns the name under which an attribute appears in masked HTML. */
export function maskAttributeName(name: string): string {
  return `${maskPrefix}${name}`;
}
