import { type CSSProperties, memo } from "react";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";
import { useSelect } from "../store/store";
import { oneLine } from "../text/displayText";
import { columnsOf, isLayout, type Place, type Widgets } from "./arrange";
import { Note } from "./Note";
import { ownerOf } from "./useWidgets";
import { WidgetBoundary } from "./WidgetBoundary";
import styles from "./Widgets.module.css";
import { WidgetView } from "./WidgetView";

interface Props {
  cellId: string;
  /** The widgets of the cell. */
  widgets: Widgets;
  place: Place;
}

/** A widget with the widgets that its layout contains. */
export const PlacedWidget = memo(function PlacedWidget({ cellId, widgets, place }: Props) {
  const widget = Object.hasOwn(widgets, place.key) ? widgets[place.key] : undefined;
  if (widget === undefined) return <Elsewhere name={place.key} />;
  return (
    <WidgetBoundary widget={widget}>
      {isLayout(widget) ? (
        <Layout cellId={cellId} widgets={widgets} place={place} widget={widget} />
      ) : (
        <WidgetView cellId={cellId} widgetKey={place.key} widget={widget} />
      )}
    </WidgetBoundary>
  );
});

function Layout({ cellId, widgets, place, widget }: Props & { widget: Widget }) {
  const grid = widget.type === "grid";
  const look = grid ? styles.grid : widget.type === "row" ? styles.row : styles.column;
  return (
    <div className={look} style={grid ? ({ "--columns": columnsOf(widget) } as CSSProperties) : undefined}>
      {place.items.map((item) => (
        <div key={item.key} className={styles.place} style={grid ? span(item, columnsOf(widget)) : undefined}>
          <PlacedWidget cellId={cellId} widgets={widgets} place={item} />
        </div>
      ))}
    </div>
  );
}

function span({ across, down }: Place, columns: number): CSSProperties {
  return { "--across": Math.min(across, columns), "--down": down } as CSSProperties;
}

/** Shown for a widget that a layout names but the cell does not have. */
function Elsewhere({ name }: { name: string }) {
  const owner = useSelect((state) => ownerOf(state, name));
  const widget = useSelect((state) => (owner === null ? undefined : state.notebook.executions[owner]?.widgets[name]));
  if (owner === null || widget === undefined) return <Note>There is no widget {oneLine(name)}.</Note>;
  if (isObject(widget) && isLayout(widget))
    return <Note>{oneLine(name)} is a layout of another cell, and shown there.</Note>;
  return (
    <WidgetBoundary widget={widget}>
      <WidgetView cellId={owner} widgetKey={name} widget={widget} />
    </WidgetBoundary>
  );
}
