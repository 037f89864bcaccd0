import { CellLink } from "./CellLink";
import { partsOf } from "./cellNames";

/** Text of an error; the cells that it names by their ids are links to them. */
export function CellNames({ text }: { text: string }) {
  return partsOf(text).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is known by its place
    "cellId" in part ? <CellLink key={index} id={part.cellId} /> : part.text,
  );
}
