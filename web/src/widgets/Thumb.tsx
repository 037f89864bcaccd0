import { logSteps, type Scale, shareOf, valueAt } from "./scale";
import styles from "./Track.module.css";

interface Props {
  id?: string | undefined;
  describedBy?: string | undefined;
  /** Its name; absent: a label names it by its id. */
  label?: string | undefined;
  scale: Scale;
  /** The state names the step, so that values of a logarithmic scale keep to it. */
  stepped: boolean;
  value: number;
  /** The value in words. */
  text: string;
  /** Why it cannot be moved; "": it can. */
  why: string;
  /** It is one of two; front: the one that is taken hold of where both lie. */
  pair?: "front" | "back";
  onChange: (value: number) => void;
  /** It was let go of. */
  onDone: () => void;
}

/** The thumb of a slider: HTML's own control, whose track is drawn by Track. */
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
