import { OutputList } from "../outputs/OutputList";
import { useFreeOutputs } from "./useWidgets";

/** What the last run of a cell has shown so far, but for the plots that are widgets. */
export function CellOutputs({ cellId }: { cellId: string }) {
  const outputs = useFreeOutputs(cellId);
  return outputs === undefined ? null : <OutputList outputs={outputs} />;
}
