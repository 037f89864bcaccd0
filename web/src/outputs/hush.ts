// A browser complains in its console of each script, style, handler and subtitle that
// the page's policy forbids, even in HTML that is only looked at, or is about to be
// sanitised. By other names they are like any other attribute; style elements, as
// noframes, are parsed in the same way, and scripts, as noembed, nearly. This keeps the console readable and
// nothing else: what is missed is taken out all the same.

/** What the names of such attributes begin with. */
const prefix = "data-was-";

const styleTag = /<(\/?)style(?![\w-])/gi;
const scriptTag = /<(\/?)script(?![\w-])/gi;
const opening = /<[a-z](?:=\s*(?:"[^"]*"|'[^']*')|[^<>])*/gi;
const attribute = /(=\s*(?:"[^"]*"|'[^']*'))|(?<=[\s/"'])(style|on[a-z]+)(?=\s*=)/gi;
const trackSource = /(=\s*(?:"[^"]*"|'[^']*'))|(?<=[\s/"'])(style|on[a-z]+|src)(?=\s*=)/gi;

export function hushed(html: string): string {
  return html
    .replace(styleTag, "<$1noframes")
    .replace(scriptTag, "<$1noembed")
    .replace(opening, (tag) =>
      tag.replace(/^<track\b/i.test(tag) ? trackSource : attribute, (whole, quoted: string | undefined) =>
        quoted === undefined ? `${prefix}${whole}` : whole,
      ),
    );
}

/** HTML for a frame: subtitles from elsewhere, which its policy refuses, are not even asked for. */
export function withoutTracks(html: string): string {
  return html.replace(opening, (tag) => {
    if (!/^<track\b/i.test(tag) || /\ssrc\s*=\s*["']?\s*data:/i.test(tag)) return tag;
    return tag.replace(trackSource, (whole, quoted: string | undefined) =>
      quoted === undefined && whole.toLowerCase() === "src" ? `${prefix}${whole}` : whole,
    );
  });
}

/** The name of an element as it was. */
export function unhushedTag(name: string): string {
  if (name === "noembed") return "script";
  return name === "noframes" ? "style" : name;
}

/** The name of an attribute as it was. */
export function unhushed(name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The name that an attribute has instead. */
export function hushedName(name: string): string {
  return `${prefix}${name}`;
}
