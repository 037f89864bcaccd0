import { read, string } from "../json/schema";
import { Markdown } from "../outputs/Markdown";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";

/** Renders a text_output widget: its content, or else its value, as Markdown. */
export function TextOutput({ widget }: WidgetProps) {
  const content = widget.content ?? widget.value;
  return <Markdown source={typeof content === "string" ? read(string, content) : valueText(content)} />;
}
