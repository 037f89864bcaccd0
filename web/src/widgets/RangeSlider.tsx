import { anyList, number, read } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { Field } from "./Field";
import { Note } from "./Note";
import { NumberBox } from "./NumberBox";
import { dragSendInterval } from "./Slider";
import { SliderThumb } from "./SliderThumb";
import { SliderTrack } from "./SliderTrack";
import styles from "./SliderTrack.module.css";
import { formatSliderValue, type SliderScale, sliderMarksOf, sliderScaleOf, trackPositionOf } from "./sliderScale";
import { useWidgetControl, type WidgetControl } from "./useWidgetControl";
import { valueText } from "./valueText";
import type { WidgetProps } from "./WidgetView";
import { widgetNameOf } from "./widgetTexts";

/** Renders a range_slider widget, whose value is [low, high], with two thumbs; without two bounds, with two number inputs. */
export function RangeSlider({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useWidgetControl(cellId, widgetKey, widget);
  const scale = sliderScaleOf(widget);
  const [low = null, high = null] = read(anyList, control.value).map((value) => number.parse(value) ?? null);
  const known = low !== null && high !== null;
  const props = { widget, control, name: widgetNameOf(widget, widgetKey) };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control} isGroup>
      {({ describedBy }) => (
        <>
          {typeof scale === "string" ? (
            <RangeNumberBoxes {...props} low={low} high={high} describedBy={describedBy} />
          ) : (
            <RangeThumbs {...props} scale={scale} low={low ?? scale.min} high={high ?? scale.max} />
          )}
          {typeof scale === "string" && scale !== "" && <Note>{scale}</Note>}
          {!known && <Note>The value is not a range: {valueText(control.value)}.</Note>}
        </>
      )}
    </Field>
  );
}

interface Props {
  widget: Widget;
  control: WidgetControl;
  name: string;
}

/** Renders the track and the two thumbs of a range slider. A thumb cannot pass the other. */
function RangeThumbs({
  widget,
  control,
  name,
  scale,
  low,
  high,
}: Props & { scale: SliderScale; low: number; high: number }) {
  const [from, to] = [trackPositionOf(scale, low), trackPositionOf(scale, high)];
  const shared = {
    scale,
    disabledReason: control.disabledReason,
    roundsToStep: (number.parse(widget.step) ?? null) !== null,
    onRelease: control.flush,
  };
  const text = (value: number) => formatSliderValue(value, widget.tooltip_formatter);
  const set = (next: [number, number]) => control.set(next, { minSendInterval: dragSendInterval });
  return (
    <div className={styles.row}>
      <SliderTrack from={from} to={to} marks={sliderMarksOf(widget, scale)}>
        <SliderThumb
          {...shared}
          label={`${name}, from`}
          value={low}
          text={text(low)}
          pair={from > 0.5 ? "front" : "back"}
          onChange={(value) => set([Math.min(value, high), high])}
        />
        <SliderThumb
          {...shared}
          label={`${name}, to`}
          value={high}
          text={text(high)}
          pair={from > 0.5 ? "back" : "front"}
          onChange={(value) => set([low, Math.max(value, low)])}
        />
      </SliderTrack>
      <output className={styles.value}>
        {text(low)} – {text(high)}
      </output>
    </div>
  );
}

interface RangeNumberBoxesProps extends Props {
  low: number | null;
  high: number | null;
  describedBy: string;
}

/** Renders two number inputs for the ends of a range. */
function RangeNumberBoxes({ control, name, low, high, describedBy }: RangeNumberBoxesProps) {
  const shared = { disabledReason: control.disabledReason, describedBy, placeholder: "" };
  return (
    <div className={styles.row}>
      <NumberBox
        {...shared}
        label={`${name}, from`}
        value={low}
        onChange={(value) => control.set([value, high ?? value])}
      />
      <NumberBox
        {...shared}
        label={`${name}, to`}
        value={high}
        onChange={(value) => control.set([low ?? value, value])}
      />
    </div>
  );
}
