import { anyList, number, read } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { Field } from "./Field";
import { nameOf } from "./fields";
import { Note } from "./Note";
import { NumberBox } from "./NumberBox";
import { pace } from "./Slider";
import { formatted, marksOf, type Scale, scaleOf, shareOf } from "./scale";
import { Thumb } from "./Thumb";
import { Track } from "./Track";
import styles from "./Track.module.css";
import { valueText } from "./text";
import { type Control, useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** A slider with two thumbs, the smaller value first. */
export function RangeSlider({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const scale = scaleOf(widget);
  const [low = null, high = null] = read(anyList, control.value).map((value) => number.parse(value) ?? null);
  const known = low !== null && high !== null;
  const props = { widget, control, name: nameOf(widget, widgetKey) };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control} group>
      {({ describedBy }) => (
        <>
          {typeof scale === "string" ? (
            <Boxes {...props} low={low} high={high} describedBy={describedBy} />
          ) : (
            <Thumbs {...props} scale={scale} low={low ?? scale.min} high={high ?? scale.max} />
          )}
          {typeof scale === "string" && scale !== "" && <Note>{scale}</Note>}
          {!known && <Note>The value is no range: {valueText(control.value)}.</Note>}
        </>
      )}
    </Field>
  );
}

interface Props {
  widget: Widget;
  control: Control;
  name: string;
}

/** The two thumbs. Neither can pass the other. */
function Thumbs({ widget, control, name, scale, low, high }: Props & { scale: Scale; low: number; high: number }) {
  const [from, to] = [shareOf(scale, low), shareOf(scale, high)];
  const shared = {
    scale,
    why: control.why,
    stepped: (number.parse(widget.step) ?? null) !== null,
    onDone: control.flush,
  };
  const text = (value: number) => formatted(value, widget.tooltip_formatter);
  const set = (next: [number, number]) => control.set(next, { pace });
  return (
    <div className={styles.row}>
      <Track from={from} to={to} marks={marksOf(widget, scale)}>
        <Thumb
          {...shared}
          label={`${name}, from`}
          value={low}
          text={text(low)}
          pair={from > 0.5 ? "front" : "back"}
          onChange={(value) => set([Math.min(value, high), high])}
        />
        <Thumb
          {...shared}
          label={`${name}, to`}
          value={high}
          text={text(high)}
          pair={from > 0.5 ? "back" : "front"}
          onChange={(value) => set([low, Math.max(value, low)])}
        />
      </Track>
      <output className={styles.value}>
        {text(low)} – {text(high)}
      </output>
    </div>
  );
}

interface BoxesProps extends Props {
  low: number | null;
  high: number | null;
  describedBy: string;
}

function Boxes({ control, name, low, high, describedBy }: BoxesProps) {
  const shared = { why: control.why, describedBy, placeholder: "" };
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
