/** A text of nbformat, which may be a list of lines; null: it is something else. */
export function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((line) => typeof line === "string")) return value.join("");
  return null;
}

/** value as something that has fields; null: it has none. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Controls and marks that turn the direction of text, of which nothing is to be seen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A short text, such as a name, on one line and with what would not be seen spelt out, as <U+202E>. */
export function plainName(value: unknown, longest = 200): string {
  const text = typeof value === "string" ? value : String(JSON.stringify(value) ?? value);
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return cut.replace(unseen, (c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

/** A size for people: "312 bytes", "4.2 KiB", "1.0 MiB". */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** "1 line", "12,345 lines". */
export function countText(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
