/** Part of an error text: plain text, or the id of a cell that the text names. */
export type ErrorTextPart = { text: string } | { cellId: string };

/** Matches the file name `<cell ID>`, or `<cell ID v2>` of an edited cell, that tracebacks have for a cell's code; captures the id. */
const cellNamePattern = /<cell ([^<>\s]{1,200})(?: v\d+)?>/;

/** Splits an error text at the cells that it names, as in `File "<cell ID>", line 2`. A text without any is one part. */
export function splitAtCellNames(text: string): readonly ErrorTextPart[] {
  if (!text.includes("<cell ")) return [{ text }];
  return text.split(cellNamePattern).map((part, index) => (index % 2 === 1 ? { cellId: part } : { text: part }));
}
