import { read, string } from "../json/schema";
import { Markdown } from "../outputs/Markdown";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";

/** A Markdown text that a cell displays. */
export function TextOutput({ widget }: WidgetProps) {
  const content = widget.content ?? widget.value;
  return <Markdown source={typeof content === "string" ? read(string, content) : valueText(content)} />;
}
