import { OutputList } from "../outputs/OutputList";
import { useOutputsWithoutPlots } from "./useWidgets";

/** The outputs of the cell's last run, except plots that are shown by widgets. */
export function CellOutputs({ cellId }: { cellId: string }) {
  const outputs = useOutputsWithoutPlots(cellId);
  return outputs === undefined ? null : <OutputList outputs={outputs} />;
}
