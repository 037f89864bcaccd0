/** The names of all HTML elements, including obsolete ones, and of the root elements `svg` and `math`. */
const htmlElementNames = new Set(
  (
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button " +
    "canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset " +
    "figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins isindex " +
    "kbd keygen label legend li link listing main map mark marquee math menu menuitem meta meter nav nobr noembed noframes noscript " +
    "object ol optgroup option output p param picture plaintext portal pre progress q rb rp rt rtc ruby s samp script search section " +
    "select slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time " +
    "title tr track tt u ul var video wbr xmp"
  ).split(" "),
);

/** Matches the "<" of an opening or closing tag; captures the element's name. */
const tagStartPattern = /<(?=\/?([a-z][^\s/<>]*))/gi;

/** Escapes tags whose element is not HTML, such as `<region>`, so that they are displayed as text. */
export function escapeUnknownTags(html: string): string {
  return html.replace(tagStartPattern, (bracket, name: string) => (isHtmlElementName(name) ? bracket : "&lt;"));
}

/** Reports whether the text begins, after at most 3 spaces, with a tag whose element is not HTML. */
export function startsWithUnknownTag(text: string): boolean {
  const name = /^ {0,3}<\/?([a-z][^\s/<>]*)/i.exec(text)?.[1];
  return name !== undefined && !isHtmlElementName(name);
}

function isHtmlElementName(name: string): boolean {
  return htmlElementNames.has(name.toLowerCase());
}
