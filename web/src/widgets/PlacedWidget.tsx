import { type CSSProperties, memo } from "react";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import { gridColumnsOf, isLayout, type WidgetPlacement, type WidgetsByKey } from "./arrangeWidgets";
import styles from "./LiveWidgets.module.css";
import { Note } from "./Note";
import { cellIdOfWidget } from "./useWidgets";
import { WidgetErrorBoundary } from "./WidgetErrorBoundary";
import { WidgetView } from "./WidgetView";

interface Props {
  cellId: string;
  /** The widgets of the cell. */
  widgets: WidgetsByKey;
  place: WidgetPlacement;
}

/** Renders a placed widget; a layout with the widgets that it contains. */
export const PlacedWidget = memo(function PlacedWidget({ cellId, widgets, place }: Props) {
  const widget = Object.hasOwn(widgets, place.key) ? widgets[place.key] : undefined;
  if (widget === undefined) return <WidgetOfOtherCell name={place.key} />;
  return (
    <WidgetErrorBoundary widget={widget}>
      {isLayout(widget) ? (
        <WidgetLayout cellId={cellId} widgets={widgets} place={place} widget={widget} />
      ) : (
        <WidgetView cellId={cellId} widgetKey={place.key} widget={widget} />
      )}
    </WidgetErrorBoundary>
  );
});

/** Renders a row, column or grid of widgets. */
function WidgetLayout({ cellId, widgets, place, widget }: Props & { widget: Widget }) {
  const grid = widget.type === "grid";
  const look = grid ? styles.grid : widget.type === "row" ? styles.row : styles.column;
  return (
    <div className={look} style={grid ? ({ "--columns": gridColumnsOf(widget) } as CSSProperties) : undefined}>
      {place.items.map((item) => (
        <div
          key={item.key}
          className={styles.layoutItem}
          style={grid ? spanStyle(item, gridColumnsOf(widget)) : undefined}
        >
          <PlacedWidget cellId={cellId} widgets={widgets} place={item} />
        </div>
      ))}
    </div>
  );
}

/** Returns the custom properties for the columns and rows that a grid item spans. */
function spanStyle({ columnSpan, rowSpan }: WidgetPlacement, columns: number): CSSProperties {
  return { "--column-span": Math.min(columnSpan, columns), "--row-span": rowSpan } as CSSProperties;
}

/** Renders a widget that a layout names but its cell does not have: the widget of another cell, or a note. */
function WidgetOfOtherCell({ name }: { name: string }) {
  const owner = useSelect((state) => cellIdOfWidget(state, name));
  const widget = useSelect((state) => (owner === null ? undefined : state.notebook.executions[owner]?.widgets[name]));
  if (owner === null || widget === undefined) return <Note>There is no widget {oneLine(name)}.</Note>;
  if (isObject(widget) && isLayout(widget))
    return <Note>{oneLine(name)} is a layout of another cell, and shown there.</Note>;
  return (
    <WidgetErrorBoundary widget={widget}>
      <WidgetView cellId={owner} widgetKey={name} widget={widget} />
    </WidgetErrorBoundary>
  );
}
