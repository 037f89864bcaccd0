import { OutputList } from "../outputs/OutputList";
import { useFreeOutputs } from "./useWidgets";

/** The outputs of the cell's last run, except plots that are shown by widgets. */
export function CellOutputs({ cellId }: { cellId: string }) {
  const outputs = useFreeOutputs(cellId);
  return outputs === undefined ? null : <OutputList outputs={outputs} />;
}
