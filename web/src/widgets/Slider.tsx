import { number } from "../json/schema";
import { Field } from "./Field";
import { appearanceOf } from "./fields";
import { Note } from "./Note";
import { NumberBox } from "./NumberBox";
import { formatted, marksOf, scaleOf, shareOf } from "./scale";
import { Thumb } from "./Thumb";
import { Track } from "./Track";
import styles from "./Track.module.css";
import { useSetting } from "./useSetting";
import type { WidgetProps } from "./WidgetView";

/** Minimum milliseconds between two values that are sent while a thumb is dragged. */
export const pace = 100;

/** A slider for one number. */
export function Slider({ cellId, widgetKey, widget }: WidgetProps) {
  const control = useSetting(cellId, widgetKey, widget);
  const scale = scaleOf(widget);
  const text = formatted(control.value, widget.tooltip_formatter);
  const shared = { why: control.why, text };
  return (
    <Field widgetKey={widgetKey} widget={widget} control={control}>
      {({ id, describedBy }) => {
        if (typeof scale === "string") {
          const { placeholder } = appearanceOf(widget);
          const props = { id, describedBy, placeholder, value: control.value, why: control.why };
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
            <Track from={0} to={shareOf(scale, value)} marks={marksOf(widget, scale)}>
              <Thumb
                {...shared}
                id={id}
                describedBy={describedBy}
                scale={scale}
                stepped={(number.parse(widget.step) ?? null) !== null}
                value={value}
                onChange={(next) => control.set(next, { pace })}
                onDone={control.flush}
              />
            </Track>
            <output className={styles.value} htmlFor={id}>
              {text}
            </output>
          </div>
        );
      }}
    </Field>
  );
}
