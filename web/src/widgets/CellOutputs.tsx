import { OutputList } from "../outputs/OutputList";
import { useOutputsWithoutPlots } from "./useWidgets";

/** Shows the outputs of a cell's last run, except plots that its widgets show. Renders nothing if it has not run. */
export function CellOutputs({ cellId }: { cellId: string }) {
  const outputs = useOutputsWithoutPlots(cellId);
  return outputs === undefined ? null : <OutputList outputs={outputs} />;
}
