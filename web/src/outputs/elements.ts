/** The elements of HTML, those that are obsolete among them, and the two that begin drawings and formulas. */
const elements = new Set(
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

const opener = /<(?=\/?([a-z][^\s/<>]*))/gi;

/** Makes tags that are no HTML, as `<region>`, text that can be seen. */
export function unknownAsText(html: string): string {
  return html.replace(opener, (bracket, name: string) => (isElement(name) ? bracket : "&lt;"));
}

/** Tells whether the text begins with a tag that is no HTML. */
export function startsUnknown(text: string): boolean {
  const name = /^ {0,3}<\/?([a-z][^\s/<>]*)/i.exec(text)?.[1];
  return name !== undefined && !isElement(name);
}

function isElement(name: string): boolean {
  return elements.has(name.toLowerCase());
}
