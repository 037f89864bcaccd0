import { expect, test } from "vitest";
import { cell, run, stateOf } from "./fakeNotebook";
import { alignTo, drawnPlaces, likelyHeight, placeApart } from "./place";

const view = { start: 1000, end: 1800 };

test("a cell that shows whole leaves the list where it is", () => {
  expect(alignTo({ start: 1000, end: 1100 }, view)).toBeNull();
});

test("a cell beside the view comes to its edge, one far away to its middle", () => {
  expect(alignTo({ start: 1790, end: 1900 }, view)).toBe("auto");
  expect(alignTo({ start: 900, end: 999 }, view)).toBe("auto");
  expect(alignTo({ start: 9000, end: 9100 }, view)).toBe("center");
});

test("a cell higher than the view shows its near end, and stays while much of it shows", () => {
  expect(alignTo({ start: 1900, end: 4000 }, view)).toBe("start");
  expect(alignTo({ start: 0, end: 950 }, view)).toBe("end");
  expect(alignTo({ start: 1300, end: 4000 }, view)).toBeNull();
  expect(alignTo({ start: 1700, end: 4000 }, view)).toBe("start");
});

test("the kept place is drawn in order, and known to stand apart", () => {
  expect(drawnPlaces([4, 5, 6], 900)).toEqual([4, 5, 6, 900]);
  expect(drawnPlaces([4, 5, 6], 1)).toEqual([1, 4, 5, 6]);
  expect(drawnPlaces([4, 5, 6], 5)).toEqual([4, 5, 6]);
  expect(drawnPlaces([4, 5, 6], -1)).toEqual([4, 5, 6]);
  expect(placeApart([4, 5, 6, 900], 900)).toBe(900);
  expect(placeApart([1, 4, 5, 6], 1)).toBe(1);
  expect(placeApart([4, 5, 6, 7], 7)).toBe(-1);
  expect(placeApart([3, 4, 5], 3)).toBe(-1);
  expect(placeApart([3], 3)).toBe(-1);
});

test("more lines and outputs are likely to be higher", () => {
  const state = stateOf([cell("a", "x"), cell("b", "x\ny\nz"), cell("c", "x")], {
    executions: { c: run({ outputs: [{ output_type: "stream", name: "stdout", text: "hi" }] }) },
  });
  expect(likelyHeight(state, "b") - likelyHeight(state, "a")).toBe(40);
  expect(likelyHeight(state, "c")).toBeGreaterThan(likelyHeight(state, "a"));
});
