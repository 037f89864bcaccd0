import { describe, expect, it } from "vitest";
import { formatSliderValue, sliderMarksOf, sliderScaleOf, trackPositionOf, valueAtTrackPosition } from "./sliderScale";

const sliderState = (fields: object) => ({ type: "slider", ...fields });

describe("scaleOf", () => {
  it("reads bounds and step", () => {
    expect(sliderScaleOf(sliderState({ min: 0, max: 10, step: 2 }))).toEqual({
      min: 0,
      max: 10,
      step: 2,
      isLogarithmic: false,
    });
  });

  it("defaults the step to 1 for integers, and to a hundredth of the range otherwise", () => {
    expect(sliderScaleOf(sliderState({ min: 0, max: 10, value: 3 }))).toMatchObject({ step: 1 });
    expect(sliderScaleOf(sliderState({ min: 0, max: 10, value: 2.5 }))).toMatchObject({ step: 0.1 });
    expect(sliderScaleOf(sliderState({ min: 0, max: 1, value: 0 }))).toMatchObject({ step: 0.01 });
  });

  it("returns a text if there are no valid bounds", () => {
    expect(sliderScaleOf(sliderState({ min: 5, max: 3 }))).toBe("The minimum, 5, is above the maximum, 3.");
    expect(sliderScaleOf(sliderState({ min: 5, max: null }))).toBe("At least 5.");
    expect(sliderScaleOf(sliderState({ min: "0", max: { $float: "inf" } }))).toBe("");
  });

  it("ignores invalid steps", () => {
    for (const step of [0, -1, 1e9, Number.NaN, "2", {}]) {
      expect(sliderScaleOf(sliderState({ min: 0, max: 10, step }))).toMatchObject({ step: 1 });
    }
  });

  it("is logarithmic only above 0", () => {
    expect(sliderScaleOf(sliderState({ min: 0.1, max: 10, scale_type: "log" }))).toMatchObject({ isLogarithmic: true });
    expect(sliderScaleOf(sliderState({ min: 0, max: 10, scale_type: "log" }))).toMatchObject({ isLogarithmic: false });
  });
});

describe("a logarithmic track", () => {
  const log = { min: 0.001, max: 1000, step: 1, isLogarithmic: true };

  it("has the geometric mean in its middle", () => {
    expect(trackPositionOf(log, 1)).toBeCloseTo(0.5);
    expect(valueAtTrackPosition(log, 0.5, false)).toBe(1);
  });

  it("limits values and positions to its range", () => {
    expect([trackPositionOf(log, -5), trackPositionOf(log, 1e9)]).toEqual([0, 1]);
    expect([valueAtTrackPosition(log, 0, false), valueAtTrackPosition(log, 1, false)]).toEqual([0.001, 1000]);
  });

  it("rounds values to the step", () => {
    expect(valueAtTrackPosition({ min: 1, max: 100, step: 3, isLogarithmic: true }, 0.5, true)).toBe(10);
  });
});

describe("formatted", () => {
  it("formats percentages, templates with {value}, and plain numbers", () => {
    expect(formatSliderValue(0.07, "percentage")).toBe("7%");
    expect(formatSliderValue(3, "{value} mm")).toBe("3 mm");
    expect(formatSliderValue(0.1 + 0.2, null)).toBe("0.3");
    expect(formatSliderValue(5, "{value} $& {value}")).toBe("5 $& 5");
  });

  it("formats values that are not numbers", () => {
    expect(formatSliderValue({ $float: "nan" }, "percentage")).toBe("NaN");
    expect(formatSliderValue("12", null)).toBe("12");
    expect(formatSliderValue(null, {})).toBe("none");
  });
});

describe("marksOf", () => {
  it("returns the marks on the scale, from left to right", () => {
    const marks = { 10: "end", 5: "half", 0: 0, 99: "out", x: "no", "": "no" };
    const scale = { min: 0, max: 10, step: 1, isLogarithmic: false };
    expect(sliderMarksOf(sliderState({ marks }), scale)).toEqual([
      { value: 0, position: 0, text: "0" },
      { value: 5, position: 0.5, text: "half" },
      { value: 10, position: 1, text: "end" },
    ]);
    expect(sliderMarksOf(sliderState({ marks: "many" }), scale)).toEqual([]);
  });
});
