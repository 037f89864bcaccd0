import { expect, test } from "vitest";
import { detachedIndex, drawnIndexes, estimateCellHeight, scrollAlignment } from "./cellLayout";
import { fakeCell, fakeExecution, stateOf } from "./fakeNotebook";

const view = { start: 1000, end: 1800 };

test("a cell that shows whole leaves the list where it is", () => {
  expect(scrollAlignment({ start: 1000, end: 1100 }, view)).toBeNull();
});

test("a cell beside the view comes to its edge, one far away to its middle", () => {
  expect(scrollAlignment({ start: 1790, end: 1900 }, view)).toBe("auto");
  expect(scrollAlignment({ start: 900, end: 999 }, view)).toBe("auto");
  expect(scrollAlignment({ start: 9000, end: 9100 }, view)).toBe("center");
});

test("a cell higher than the view shows its near end, and stays while much of it shows", () => {
  expect(scrollAlignment({ start: 1900, end: 4000 }, view)).toBe("start");
  expect(scrollAlignment({ start: 0, end: 950 }, view)).toBe("end");
  expect(scrollAlignment({ start: 1300, end: 4000 }, view)).toBeNull();
  expect(scrollAlignment({ start: 1700, end: 4000 }, view)).toBe("start");
});

test("the kept place is drawn in order, and known to stand apart", () => {
  expect(drawnIndexes([4, 5, 6], 900)).toEqual([4, 5, 6, 900]);
  expect(drawnIndexes([4, 5, 6], 1)).toEqual([1, 4, 5, 6]);
  expect(drawnIndexes([4, 5, 6], 5)).toEqual([4, 5, 6]);
  expect(drawnIndexes([4, 5, 6], -1)).toEqual([4, 5, 6]);
  expect(detachedIndex([4, 5, 6, 900], 900)).toBe(900);
  expect(detachedIndex([1, 4, 5, 6], 1)).toBe(1);
  expect(detachedIndex([4, 5, 6, 7], 7)).toBe(-1);
  expect(detachedIndex([3, 4, 5], 3)).toBe(-1);
  expect(detachedIndex([3], 3)).toBe(-1);
});

test("more lines and outputs are likely to be higher", () => {
  const state = stateOf([fakeCell("a", "x"), fakeCell("b", "x\ny\nz"), fakeCell("c", "x")], {
    executions: { c: fakeExecution({ outputs: [{ output_type: "stream", name: "stdout", text: "hi" }] }) },
  });
  expect(estimateCellHeight(state, "b") - estimateCellHeight(state, "a")).toBe(40);
  expect(estimateCellHeight(state, "c")).toBeGreaterThan(estimateCellHeight(state, "a"));
});
