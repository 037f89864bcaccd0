import { anyObject, number, read, string } from "../json/schema";
import type { Widget } from "../protocol/messages";
import { oneLine } from "../text/displayText";
import { valueText } from "./valueText";

/** The range and step of a slider's values, and how they map to its track. */
export interface SliderScale {
  min: number;
  max: number;
  step: number;
  isLogarithmic: boolean;
}

/** Number of steps of the range input that a logarithmic slider uses. */
export const logarithmicSliderSteps = 1000;

/** Returns the scale of a slider's state. Without two valid bounds, returns a sentence that names the bound or the problem; "" if there is no bound. */
export function sliderScaleOf(widget: Widget): SliderScale | string {
  const min = number.parse(widget.min) ?? null;
  const max = number.parse(widget.max) ?? null;
  if (min === null && max === null) return "";
  if (min === null) return `At most ${numberText(max)}.`;
  if (max === null) return `At least ${numberText(min)}.`;
  if (min > max) return `The minimum, ${numberText(min)}, is above the maximum, ${numberText(max)}.`;
  const isLogarithmic = /^log/i.test(read(string, widget.scale_type)) && min > 0;
  return { min, max, step: sliderStepOf(widget, max - min), isLogarithmic };
}

/**
 * Returns the step of a slider's state. If it has no valid one: 1 if all its numbers are integers and the range is
 * longer than 2, else a hundredth of the range.
 */
function sliderStepOf(widget: Widget, span: number): number {
  const step = number.parse(widget.step) ?? null;
  if (step !== null && step > 0 && step <= span) return step;
  const whole = [widget.min, widget.max, widget.value].every(
    (value) => !Number.isFinite(value) || Number.isInteger(value),
  );
  return whole && span > 2 ? 1 : span / 100 || 1;
}

/** Returns the position of a value on the slider's track, from 0 to 1. Values outside the range are at its ends. */
export function trackPositionOf({ min, max, isLogarithmic }: SliderScale, value: number): number {
  if (max <= min) return 0;
  const inside = Math.min(max, Math.max(min, value));
  return isLogarithmic ? Math.log(inside / min) / Math.log(max / min) : (inside - min) / (max - min);
}

/** Returns the value at a position from 0 to 1 on a logarithmic track, rounded to the step if `roundsToStep`, else to 3 digits. */
export function valueAtTrackPosition(scale: SliderScale, position: number, roundsToStep: boolean): number {
  const raw = scale.min * (scale.max / scale.min) ** position;
  const value = roundsToStep
    ? scale.min + Math.round((raw - scale.min) / scale.step) * scale.step
    : Number(raw.toPrecision(3));
  return Math.min(scale.max, Math.max(scale.min, removeRoundingError(value)));
}

/** Rounds a number to 12 digits, which removes the rounding errors of decimal fractions. */
function removeRoundingError(value: number): number {
  return Number(value.toPrecision(12));
}

/**
 * Formats a value for its slider. formatter is the state's tooltip_formatter: a name or a text that
 * contains {value}.
 */
export function formatSliderValue(value: unknown, formatter: unknown): string {
  const parsed = number.parse(value);
  if (parsed === undefined) return valueText(value, 40);
  const how = read(string, formatter);
  if (/^percent(age)?$/.test(how)) return `${removeRoundingError(parsed * 100)}%`;
  if (/\{(value)?\}/.test(how))
    return oneLine(
      how.replace(/\{(value)?\}/g, () => String(removeRoundingError(parsed))),
      80,
    );
  return String(removeRoundingError(parsed));
}

function numberText(value: unknown): string {
  return formatSliderValue(value, "");
}

/** A labelled mark below a slider's track. position is from 0 to 1. */
export interface SliderMark {
  position: number;
  value: number;
  text: string;
}

const maxSliderMarks = 50;

/** Returns the first 50 marks of a slider's state that are on its scale, from left to right. */
export function sliderMarksOf(widget: Widget, scale: SliderScale): SliderMark[] {
  const marks: SliderMark[] = [];
  for (const [key, text] of Object.entries(read(anyObject, widget.marks))) {
    const value = key.trim() === "" ? Number.NaN : Number(key);
    if (!(value >= scale.min && value <= scale.max)) continue;
    marks.push({ value, position: trackPositionOf(scale, value), text: valueText(text, 40) });
    if (marks.length === maxSliderMarks) break;
  }
  return marks.sort((a, b) => a.position - b.position);
}
