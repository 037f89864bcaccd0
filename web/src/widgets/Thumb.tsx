import { logSteps, type Scale, shareOf, valueAt } from "./scale";
import styles from "./Track.module.css";

interface Props {
  id?: string | undefined;
  describedBy?: string | undefined;
  /** Accessible name; absent: a label refers to the id. */
  label?: string | undefined;
  scale: Scale;
  /** The state has a step, so values of a logarithmic scale are rounded to it. */
  stepped: boolean;
  value: number;
  /** The value as text. */
  text: string;
  /** Why it cannot be moved; "": it can. */
  why: string;
  /** One of two thumbs; front: the one that is dragged if both are at the same place. */
  pair?: "front" | "back";
  onChange: (value: number) => void;
  /** Called when the thumb is released. */
  onDone: () => void;
}

/** The thumb of a slider: an HTML range input, whose track is drawn by Track. */
export function Thumb({ id, describedBy, label, scale, stepped, value, text, why, pair, onChange, onDone }: Props) {
  const { min, max, step, log } = scale;
  const ends = log
    ? { min: 0, max: logSteps, step: 1, value: Math.round(shareOf(scale, value) * logSteps) }
    : { min, max, step, value };
  const side = pair === undefined ? "" : pair === "front" ? `${styles.pair} ${styles.front}` : styles.pair;
  return (
    <input
      {...ends}
      type="range"
      id={id}
      className={`${styles.thumb} ${side}`}
      aria-label={label}
      aria-describedby={describedBy}
      aria-valuetext={text}
      disabled={why !== ""}
      title={why || text}
      onChange={({ target }) => {
        const number = Number(target.value);
        onChange(log ? valueAt(scale, number / logSteps, stepped) : number);
      }}
      onPointerUp={onDone}
      onKeyUp={onDone}
      onBlur={onDone}
    />
  );
}
