import { anyObject, read, string } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";

/** Returns the label in a widget's state, on one line; "" if it has none. */
export function widgetLabelOf(widget: Widget): string {
  return oneLine(read(string, widget.label));
}

/** Returns the name of a widget for display: its label, else its key within the cell, else "widget". */
export function widgetNameOf(widget: Widget, key: string): string {
  return widgetLabelOf(widget) || oneLine(key.slice(key.indexOf("/") + 1)) || "widget";
}

/** The texts in the appearance of a widget's state; "" for those that are absent. */
export interface AppearanceTexts {
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

/** Returns the texts in the appearance of a widget's state, each on one line and at most 2000 characters long. */
export function appearanceTextsOf(widget: Widget): AppearanceTexts {
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
