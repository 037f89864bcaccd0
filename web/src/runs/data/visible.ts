const limit = 300;

// Controls, and what turns the direction of the text around it.
const unseen = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu;

/**
 * A name or other short text of somebody else's making, as it may stand between
 * words of ours: what cannot be seen is written out, and after 300 characters it ends.
 */
export function visible(text: string): string {
  const short = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return short.replace(unseen, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
