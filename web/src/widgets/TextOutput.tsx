import { read, string } from "../json/schema";
import { Markdown } from "../outputs/Markdown";
import { valueText } from "./text";
import type { WidgetProps } from "./WidgetView";

/** A text that a cell shows, as Markdown. */
export function TextOutput({ widget }: WidgetProps) {
  const content = widget.content ?? widget.value;
  return <Markdown source={typeof content === "string" ? read(string, content) : valueText(content)} />;
}
