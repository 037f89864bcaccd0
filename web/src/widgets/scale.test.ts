import { describe, expect, it } from "vitest";
import { formatted, marksOf, scaleOf, shareOf, valueAt } from "./scale";

const state = (fields: object) => ({ type: "slider", ...fields });

describe("scaleOf", () => {
  it("takes bounds and step", () => {
    expect(scaleOf(state({ min: 0, max: 10, step: 2 }))).toEqual({ min: 0, max: 10, step: 2, log: false });
  });

  it("counts in whole numbers where all are, and in hundredths of a short span", () => {
    expect(scaleOf(state({ min: 0, max: 10, value: 3 }))).toMatchObject({ step: 1 });
    expect(scaleOf(state({ min: 0, max: 10, value: 2.5 }))).toMatchObject({ step: 0.1 });
    expect(scaleOf(state({ min: 0, max: 1, value: 0 }))).toMatchObject({ step: 0.01 });
  });

  it("says why there is none", () => {
    expect(scaleOf(state({ min: 5, max: 3 }))).toBe("The least value, 5, is above the greatest, 3.");
    expect(scaleOf(state({ min: 5, max: null }))).toBe("At least 5.");
    expect(scaleOf(state({ min: "0", max: { $float: "inf" } }))).toBe("");
  });

  it("passes over steps that cannot be", () => {
    for (const step of [0, -1, 1e9, Number.NaN, "2", {}]) {
      expect(scaleOf(state({ min: 0, max: 10, step }))).toMatchObject({ step: 1 });
    }
  });

  it("is logarithmic only above 0", () => {
    expect(scaleOf(state({ min: 0.1, max: 10, scale_type: "log" }))).toMatchObject({ log: true });
    expect(scaleOf(state({ min: 0, max: 10, scale_type: "log" }))).toMatchObject({ log: false });
  });
});

describe("a logarithmic track", () => {
  const log = { min: 0.001, max: 1000, step: 1, log: true };

  it("has the geometric mean in its middle, both ways", () => {
    expect(shareOf(log, 1)).toBeCloseTo(0.5);
    expect(valueAt(log, 0.5, false)).toBe(1);
  });

  it("stays between its ends", () => {
    expect([shareOf(log, -5), shareOf(log, 1e9)]).toEqual([0, 1]);
    expect([valueAt(log, 0, false), valueAt(log, 1, false)]).toEqual([0.001, 1000]);
  });

  it("keeps to the step that the state names", () => {
    expect(valueAt({ min: 1, max: 100, step: 3, log: true }, 0.5, true)).toBe(10);
  });
});

describe("formatted", () => {
  it("writes a percentage, a text with the value in it, and the number", () => {
    expect(formatted(0.07, "percentage")).toBe("7%");
    expect(formatted(3, "{value} mm")).toBe("3 mm");
    expect(formatted(0.1 + 0.2, null)).toBe("0.3");
    expect(formatted(5, "{value} $& {value}")).toBe("5 $& 5");
  });

  it("says what is not a number", () => {
    expect(formatted({ $float: "nan" }, "percentage")).toBe("NaN");
    expect(formatted("12", null)).toBe("12");
    expect(formatted(null, {})).toBe("none");
  });
});

describe("marksOf", () => {
  it("keeps those that lie on the scale, from left to right", () => {
    const marks = { 10: "end", 5: "half", 0: 0, 99: "out", x: "no", "": "no" };
    const scale = { min: 0, max: 10, step: 1, log: false };
    expect(marksOf(state({ marks }), scale)).toEqual([
      { value: 0, share: 0, text: "0" },
      { value: 5, share: 0.5, text: "half" },
      { value: 10, share: 1, text: "end" },
    ]);
    expect(marksOf(state({ marks: "many" }), scale)).toEqual([]);
  });
});
