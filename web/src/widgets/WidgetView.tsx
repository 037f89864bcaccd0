import type { ComponentType } from "react";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { Checkbox } from "./Checkbox";
import { nameOf } from "./fields";
import { MultiSelect } from "./MultiSelect";
import { Note } from "./Note";
import { Plot } from "./Plot";
import { PressButton } from "./PressButton";
import { Radio } from "./Radio";
import { RangeSlider } from "./RangeSlider";
import { Select } from "./Select";
import { Slider } from "./Slider";
import { Table } from "./Table";
import { TextInput } from "./TextInput";
import { TextOutput } from "./TextOutput";
import { valueText } from "./text";
import { UnknownWidget } from "./UnknownWidget";

/** The properties of every widget component. */
export interface WidgetProps {
  /** The cell that the widget belongs to. */
  cellId: string;
  /** Its absolute key. */
  widgetKey: string;
  widget: Widget;
}

const views = new Map<unknown, ComponentType<WidgetProps>>([
  ["select", Select],
  ["multi_select", MultiSelect],
  ["radio", Radio],
  ["text_input", TextInput],
  ["checkbox", Checkbox],
  ["button", PressButton],
  ["slider", Slider],
  ["range_slider", RangeSlider],
  ["text_output", TextOutput],
  ["table", Table],
  ["plot", Plot],
]);

/** A widget that is not a layout. */
export function WidgetView(props: WidgetProps) {
  const { widget, widgetKey } = props;
  const View = isObject(widget) ? views.get(widget.type) : undefined;
  if (View === undefined) {
    const type = isObject(widget) ? valueText(widget.type, 60) : "unknown";
    return <UnknownWidget widget={widget} why={`There is no control for a widget of type ${type}.`} />;
  }
  if (typeof widget.error === "string" && !("value" in widget)) {
    return <Note>{`${nameOf(widget, widgetKey)} cannot be shown: ${oneLine(widget.error, 1000)}`}</Note>;
  }
  return <View {...props} />;
}
