import type { Widget } from "../protocol/messages";
import { plainText, short } from "./text";

/** The number that a field of a widget's state is; null for all else, NaN and infinities too. */
export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** The object that a field is; {} for all else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What is shown beside a widget; "" where it has no label. */
export function labelOf(widget: Widget): string {
  return short(plainText(widget.label));
}

/** What a widget is called where its name has to be said: its label, else its key within its cell. */
export function nameOf(widget: Widget, key: string): string {
  return labelOf(widget) || short(key.slice(key.indexOf("/") + 1)) || "widget";
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
  const fields = objectOf(widget.appearance);
  const text = (name: string) => short(plainText(fields[name]), longest);
  return {
    detail: text("detail"),
    description: text("description") || text("outline_label"),
    placeholder: text("placeholder"),
    help: text("help_text"),
    error: text("error_text"),
  };
}
