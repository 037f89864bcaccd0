import type { CSSProperties, ReactNode } from "react";
import styles from "./SliderTrack.module.css";
import type { SliderMark } from "./sliderScale";

interface Props {
  /** Start and end of the selected part of the track, each from 0 to 1. */
  from: number;
  to: number;
  marks: readonly SliderMark[];
  /** The thumbs. */
  children: ReactNode;
}

/** Renders the track of a slider, its thumbs, and the marks below it. */
export function SliderTrack({ from, to, marks, children }: Props) {
  return (
    <div className={styles.slider}>
      <div className={styles.track}>
        <div className={styles.trackLine} />
        <div className={styles.selectedPart} style={{ "--from": from, "--to": to } as CSSProperties} />
        {children}
      </div>
      {marks.length > 0 && (
        <div className={styles.marks}>
          {marks.map((mark) => (
            <span key={mark.value} style={{ "--at": mark.position } as CSSProperties}>
              {mark.text}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}
