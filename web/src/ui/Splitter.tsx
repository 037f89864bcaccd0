import { type KeyboardEvent, type PointerEvent, useRef } from "react";
import styles from "./Splitter.module.css";

interface Props {
  /** What is made larger and smaller. */
  label: string;
  /** vertical: a line between left and right; what is to its right has the size. horizontal: what is below. */
  orientation: "vertical" | "horizontal";
  /** Id of what is made larger and smaller. */
  controls: string;
  /** In pixels, as are the bounds. */
  size: number;
  min: number;
  max: number;
  onSize: (size: number) => void;
}

const step = 24;

/** A line that is dragged, or moved with the arrow keys, to give what is behind it another size. */
export function Splitter({ label, orientation, controls, size, min, max, onSize }: Props) {
  const start = useRef<{ at: number; size: number } | null>(null);
  const set = (wanted: number) => onSize(Math.round(Math.min(Math.max(wanted, min), max)));
  const at = (event: PointerEvent) => (orientation === "vertical" ? event.clientX : event.clientY);
  const onKeyDown = (event: KeyboardEvent) => {
    const [more, less] = orientation === "vertical" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const to = { [more]: size + step, [less]: size - step, Home: min, End: max }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set(to);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot be moved
    <div
      role="separator"
      aria-label={label}
      aria-controls={controls}
      aria-orientation={orientation}
      aria-valuenow={size}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      className={`${styles.splitter} ${styles[orientation]}`}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { at: at(event), size };
      }}
      onPointerMove={(event) => {
        if (start.current !== null) set(start.current.size + start.current.at - at(event));
      }}
      onPointerUp={() => {
        start.current = null;
      }}
      onPointerCancel={() => {
        start.current = null;
      }}
    />
  );
}
