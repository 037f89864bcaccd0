import { anyObject, read, string } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";

/** Returns the label of a widget; "" if it has none. */
export function widgetLabelOf(widget: Widget): string {
  return oneLine(read(string, widget.label));
}

/** Returns a widget's name: its label, else its key within the cell. */
export function widgetNameOf(widget: Widget, key: string): string {
  return widgetLabelOf(widget) || oneLine(key.slice(key.indexOf("/") + 1)) || "widget";
}

/** The texts of a widget's appearance; "" for those that are absent. */
export interface Appearance {
  /** Shown beside the label, such as a unit. */
  detail: string;
  /** Shown below the label. */
  description: string;
  placeholder: string;
  /** Shown below the control. */
  help: string;
  /** Shown below the control as an error. */
  error: string;
}

const maxTextLength = 2000; // maximum characters of one of them

export function appearanceOf(widget: Widget): Appearance {
  const fields = read(anyObject, widget.appearance);
  const text = (name: string) => oneLine(read(string, fields[name]), maxTextLength);
  return {
    detail: text("detail"),
    description: text("description") || text("outline_label"),
    placeholder: text("placeholder"),
    help: text("help_text"),
    error: text("error_text"),
  };
}
