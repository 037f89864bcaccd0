import { anyList, read } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { jsonText, valueText } from "./valueText";

/** An option of a widget: any JSON value, which is sent unchanged. */
export interface WidgetOption {
  /** Index among the options, from 0. */
  index: number;
  value: unknown;
  /** Its label. */
  text: string;
  /** Its value as JSON, which identifies it. */
  json: string;
}

/** Returns the options of a widget. Options with equal labels, such as 1 and "1", are shown as JSON. */
export function optionsOf(widget: Widget): WidgetOption[] {
  const options = read(anyList, widget.options).map((value, index) => ({
    index,
    value,
    text: valueText(value),
    json: jsonText(value),
  }));
  const looks = new Map<string, Set<string>>();
  for (const { text, json } of options) looks.set(text, (looks.get(text) ?? new Set()).add(json));
  return options.map((option) =>
    (looks.get(option.text)?.size ?? 0) > 1 ? { ...option, text: oneLine(option.json) } : option,
  );
}

/** Returns the first option whose value has the same JSON; undefined if there is none. */
export function findOption(options: readonly WidgetOption[], value: unknown): WidgetOption | undefined {
  const json = jsonText(value);
  return options.find((option) => option.json === json);
}

/** Returns the options whose label contains all words of the search, in any order, ignoring case. */
export function searchOptions(options: readonly WidgetOption[], words: string): readonly WidgetOption[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return options;
  return options.filter(({ text }) => {
    const lower = text.toLowerCase();
    return wanted.every((word) => lower.includes(word));
  });
}
