import styles from "./SliderTrack.module.css";
import { logarithmicSliderSteps, type SliderScale, trackPositionOf, valueAtTrackPosition } from "./sliderScale";

interface Props {
  id?: string | undefined;
  describedBy?: string | undefined;
  /** Accessible name; absent if a label element refers to the id. */
  label?: string | undefined;
  scale: SliderScale;
  /** Whether values of a logarithmic scale are rounded to the step, because the widget's state names one. */
  roundsToStep: boolean;
  value: number;
  /** The value, formatted for display. */
  text: string;
  /** Why the thumb cannot be moved; "" if it can. */
  disabledReason: string;
  /** For one of two thumbs: "front" is dragged if both are at the same position. Absent for a single thumb. */
  pair?: "front" | "back";
  onChange: (value: number) => void;
  /** Called when the thumb is released. */
  onRelease: () => void;
}

/** Renders the thumb of a slider: an HTML range input whose own track is invisible, because SliderTrack draws it. */
export function SliderThumb({
  id,
  describedBy,
  label,
  scale,
  roundsToStep,
  value,
  text,
  disabledReason,
  pair,
  onChange,
  onRelease,
}: Props) {
  const { min, max, step, isLogarithmic } = scale;
  const ends = isLogarithmic
    ? {
        min: 0,
        max: logarithmicSliderSteps,
        step: 1,
        value: Math.round(trackPositionOf(scale, value) * logarithmicSliderSteps),
      }
    : { min, max, step, value };
  const side =
    pair === undefined ? "" : pair === "front" ? `${styles.pairedThumb} ${styles.frontThumb}` : styles.pairedThumb;
  return (
    <input
      {...ends}
      type="range"
      id={id}
      className={`${styles.thumb} ${side}`}
      aria-label={label}
      aria-describedby={describedBy}
      aria-valuetext={text}
      disabled={disabledReason !== ""}
      title={disabledReason || text}
      onChange={({ target }) => {
        const number = Number(target.value);
        onChange(isLogarithmic ? valueAtTrackPosition(scale, number / logarithmicSliderSteps, roundsToStep) : number);
      }}
      onPointerUp={onRelease}
      onKeyUp={onRelease}
      onBlur={onRelease}
    />
  );
}
