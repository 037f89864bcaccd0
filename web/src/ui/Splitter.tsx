import { type KeyboardEvent, type PointerEvent, useRef } from "react";
import styles from "./Splitter.module.css";

interface Props {
  /** What is resized, for screen readers. */
  label: string;
  /**
   * vertical: between left and right, the size is that of the right part. horizontal: between top
   * and bottom, the size is that of the bottom part.
   */
  orientation: "vertical" | "horizontal";
  /** Id of the element that is resized. */
  controls: string;
  /** In pixels, like min and max. */
  size: number;
  min: number;
  max: number;
  onSize: (size: number) => void;
}

const keyStepPx = 24;

/** Renders a line that resizes the part of the page after it when it is dragged or moved with the arrow keys. */
export function Splitter({ label, orientation, controls, size, min, max, onSize }: Props) {
  const dragStart = useRef<{ at: number; size: number } | null>(null);
  const set = (wanted: number) => onSize(Math.round(Math.min(Math.max(wanted, min), max)));
  const positionOf = (event: PointerEvent) => (orientation === "vertical" ? event.clientX : event.clientY);
  const onKeyDown = (event: KeyboardEvent) => {
    const [more, less] = orientation === "vertical" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const to = { [more]: size + keyStepPx, [less]: size - keyStepPx, Home: min, End: max }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set(to);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr is not movable
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
        dragStart.current = { at: positionOf(event), size };
      }}
      onPointerMove={(event) => {
        if (dragStart.current !== null) set(dragStart.current.size + dragStart.current.at - positionOf(event));
      }}
      onPointerUp={() => {
        dragStart.current = null;
      }}
      onPointerCancel={() => {
        dragStart.current = null;
      }}
    />
  );
}
