import { CellLink } from "./CellLink";
import { splitAtCellNames } from "./splitAtCellNames";

/** Shows an error text in which each cell named as `<cell ID>` is a link to the cell. */
export function TextWithCellLinks({ text }: { text: string }) {
  return splitAtCellNames(text).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no key but their position
    "cellId" in part ? <CellLink key={index} id={part.cellId} /> : part.text,
  );
}
