// A browser complains in its console of each style and handler that the page's
// policy forbids, even in HTML that is only looked at, or is about to be
// sanitised. By other names they are like any other attribute, and style elements,
// as noframes, are parsed in the same way. This keeps the console readable and
// nothing else: what is missed is taken out all the same.

/** What the names of such attributes begin with. */
const prefix = "data-was-";

const styleTag = /<(\/?)style(?![\w-])/gi;
const opening = /<[a-z][^<>]*/gi;
const attribute = /("[^"]*"|'[^']*')|([\s/])(style|on[a-z]+)(?=\s*=)/gi;

export function hushed(html: string): string {
  return html
    .replace(styleTag, "<$1noframes")
    .replace(opening, (tag) =>
      tag.replace(attribute, (whole, quoted: string | undefined, before: string, name: string) =>
        quoted === undefined ? `${before}${prefix}${name}` : whole,
      ),
    );
}

/** The name of an element as it was. */
export function unhushedTag(name: string): string {
  return name === "noframes" ? "style" : name;
}

/** The name of an attribute as it was. */
export function unhushed(name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
