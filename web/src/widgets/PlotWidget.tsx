import { OutputList } from "../outputs/OutputList";
import styles from "./Field.module.css";
import { Note } from "./Note";
import { usePlotOutputs } from "./useWidgets";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf, widgetLabelOf } from "./widgetTexts";

/** Renders a plot widget: the cell's output whose display id is in the widget's state, or is its key. */
export function PlotWidget({ cellId, widgetKey, widget }: WidgetProps) {
  const outputs = usePlotOutputs(cellId, widgetKey, widget);
  const { description, help, placeholder } = appearanceTextsOf(widget);
  const none =
    widget.display_id === null ? placeholder || "There is no figure yet." : "The figure is no longer available.";
  return (
    <figure className={styles.figure}>
      {widgetLabelOf(widget) !== "" && <figcaption className={styles.label}>{widgetLabelOf(widget)}</figcaption>}
      {description !== "" && <p className={styles.helpText}>{description}</p>}
      {outputs.length === 0 ? <Note>{none}</Note> : <OutputList outputs={outputs} />}
      {help !== "" && <p className={styles.helpText}>{help}</p>}
    </figure>
  );
}
