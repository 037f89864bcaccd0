import { number } from "../json/schema";
import { Field } from "./Field";
import { Note } from "./Note";
import { NumberBox } from "./NumberBox";
import { SliderThumb } from "./SliderThumb";
import { SliderTrack } from "./SliderTrack";
import styles from "./SliderTrack.module.css";
import { formatSliderValue, sliderMarksOf, sliderScaleOf, trackPositionOf } from "./sliderScale";
import { useWidgetControl } from "./useWidgetControl";
import type { WidgetProps } from "./WidgetView";
import { appearanceTextsOf } from "./widgetTexts";

/** Minimum milliseconds between two values that are sent while a thumb is dragged. */
export const dragSendInterval = 100;

/** Renders a slider widget, whose value is one number; without two bounds, as a number input. */
export function Slider({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const scale = sliderScaleOf(widget);
  const text = formatSliderValue(control.value, widget.tooltip_formatter);
  const shared = { disabledReason: control.disabledReason, text };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control}>
      {({ id, describedBy }) => {
        if (typeof scale === "string") {
          const { placeholder } = appearanceTextsOf(widget);
          const props = { id, describedBy, placeholder, value: control.value, disabledReason: control.disabledReason };
          return (
            <>
              <NumberBox {...props} onChange={(value) => control.set(value)} />
              {scale !== "" && <Note>{scale}</Note>}
            </>
          );
        }
        const value = number.parse(control.value) ?? scale.min;
        return (
          <div className={styles.row}>
            <SliderTrack from={0} to={trackPositionOf(scale, value)} marks={sliderMarksOf(widget, scale)}>
              <SliderThumb
                {...shared}
                id={id}
                describedBy={describedBy}
                scale={scale}
                roundsToStep={(number.parse(widget.step) ?? null) !== null}
                value={value}
                onChange={(next) => control.set(next, { minSendInterval: dragSendInterval })}
                onRelease={control.flush}
              />
            </SliderTrack>
            <output className={styles.value} htmlFor={id}>
              {text}
            </output>
          </div>
        );
      }}
    </Field>
  );
}
