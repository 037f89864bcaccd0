import type { ComponentType } from "react";
import { isObject } from "../json/values";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { Checkbox } from "./Checkbox";
import { DataFrameTable } from "./DataFrameTable";
import { MultiSelect } from "./MultiSelect";
import { Note } from "./Note";
import { PlotWidget } from "./PlotWidget";
import { PressButton } from "./PressButton";
import { RadioButtons } from "./RadioButtons";
import { RangeSlider } from "./RangeSlider";
import { Select } from "./Select";
import { Slider } from "./Slider";
import { TextInput } from "./TextInput";
import { TextOutput } from "./TextOutput";
import { UnknownWidget } from "./UnknownWidget";
import { valueText } from "./valueText";
import { widgetNameOf } from "./widgetTexts";

/** The properties of every widget component. */
export interface WidgetProps {
  /** The cell that the widget belongs to. */
  cellId: string;
  /** The widget's absolute key. */
  widgetKey: string;
  widget: Widget;
}

const widgetComponents = new Map<unknown, ComponentType<WidgetProps>>([
  ["select", Select],
  ["multi_select", MultiSelect],
  ["radio", RadioButtons],
  ["text_input", TextInput],
  ["checkbox", Checkbox],
  ["button", PressButton],
  ["slider", Slider],
  ["range_slider", RangeSlider],
  ["text_output", TextOutput],
  ["table", DataFrameTable],
  ["plot", PlotWidget],
]);

/** Renders a widget that is not a layout: with the component for its type, as JSON if the type is unknown, or its error. */
export function WidgetView(props: WidgetProps) {
  const { widget, widgetKey } = props;
  const View = isObject(widget) ? widgetComponents.get(widget.type) : undefined;
  if (View === undefined) {
    const type = isObject(widget) ? valueText(widget.type, 60) : "unknown";
    return <UnknownWidget widget={widget} why={`There is no control for a widget of type ${type}.`} />;
  }
  if (typeof widget.error === "string" && !("value" in widget)) {
    return <Note>{`${widgetNameOf(widget, widgetKey)} cannot be shown: ${oneLine(widget.error, 1000)}`}</Note>;
  }
  return <View {...props} />;
}
