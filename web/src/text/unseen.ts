/**
 * What is not seen, or turns the direction of the text around it, as the inside of
 * a character class of a regular expression with the flag u: controls but tab and
 * line feed, bidi marks, spaces without width, tags, halves of characters. The two
 * joiners are not among them: scripts and emoji are written with them.
 */
export const unseen =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffc\\u{e0000}-\\u{e007f}\\p{Cs}";

/** Tab, line feed, and the joiners. */
export const seldomSeen = "\\t\\n\\u200c\\u200d";
