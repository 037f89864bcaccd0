/** Text, or a cell by its id where the kernel named one. */
export type Part = { text: string } | { cellId: string };

/** The file name that the kernel gives the code of a cell in tracebacks. */
const named = /<cell ([^<>\s]{1,200})>/;

/** Finds cells that a text names, as in `File "<cell ID>", line 2`. */
export function partsOf(text: string): readonly Part[] {
  if (!text.includes("<cell ")) return [{ text }];
  return text.split(named).map((part, index) => (index % 2 === 1 ? { cellId: part } : { text: part }));
}
