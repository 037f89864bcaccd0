import { anyObject, read, string } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";

/** What is shown beside a widget; "" where it has no label. */
export function labelOf(widget: Widget): string {
  return oneLine(read(string, widget.label));
}

/** What a widget is called where its name has to be said: its label, else its key within its cell. */
export function nameOf(widget: Widget, key: string): string {
  return labelOf(widget) || oneLine(key.slice(key.indexOf("/") + 1)) || "widget";
}

/** The texts of a widget's appearance that are shown; "" for those that it has not. */
export interface Appearance {
  /** Beside the label, as a unit is. */
  detail: string;
  /** Below the label. */
  description: string;
  placeholder: string;
  /** Below the control. */
  help: string;
  /** Below the control, as what is wrong. */
  error: string;
}

const longest = 2000; // characters of one of them

export function appearanceOf(widget: Widget): Appearance {
  const fields = read(anyObject, widget.appearance);
  const text = (name: string) => oneLine(read(string, fields[name]), longest);
  return {
    detail: text("detail"),
    description: text("description") || text("outline_label"),
    placeholder: text("placeholder"),
    help: text("help_text"),
    error: text("error_text"),
  };
}
