import { anyList, read } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { jsonText, valueText } from "./text";

/** An option of a widget: any JSON, which is sent as it is. */
export interface Option {
  /** Its place among the options, from 0. */
  index: number;
  value: unknown;
  /** How it is shown. */
  text: string;
  /** Its value as JSON, by which it is told from others. */
  json: string;
}

/** The options of a widget. Those that would look the same, as 1 and "1" do, are shown as JSON. */
export function optionsOf(widget: Widget): Option[] {
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

/** The first option of that value. */
export function optionOf(options: readonly Option[], value: unknown): Option | undefined {
  const json = jsonText(value);
  return options.find((option) => option.json === json);
}

/** The options in whose text all words of the search are, in whatever order and case. */
export function search(options: readonly Option[], words: string): readonly Option[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return options;
  return options.filter(({ text }) => {
    const lower = text.toLowerCase();
    return wanted.every((word) => lower.includes(word));
  });
}
