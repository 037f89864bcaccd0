import { expect, test } from "vitest";
import { detachedIndex, drawnIndexes, estimateCellHeight, scrollAlignment } from "./cellLayout";
import { fakeCell, fakeExecution, stateOf } from "./fakeNotebook";

const viewRange = { start: 1000, end: 1800 };

test("a completely visible cell does not scroll the list", () => {
  expect(scrollAlignment({ start: 1000, end: 1100 }, viewRange)).toBeNull();
});

test("a cell near the view scrolls to its edge, a distant one to its middle", () => {
  expect(scrollAlignment({ start: 1790, end: 1900 }, viewRange)).toBe("auto");
  expect(scrollAlignment({ start: 900, end: 999 }, viewRange)).toBe("auto");
  expect(scrollAlignment({ start: 9000, end: 9100 }, viewRange)).toBe("center");
});

test("a cell higher than the view scrolls to its nearer end, unless much of it is visible", () => {
  expect(scrollAlignment({ start: 1900, end: 4000 }, viewRange)).toBe("start");
  expect(scrollAlignment({ start: 0, end: 950 }, viewRange)).toBe("end");
  expect(scrollAlignment({ start: 1300, end: 4000 }, viewRange)).toBeNull();
  expect(scrollAlignment({ start: 1700, end: 4000 }, viewRange)).toBe("start");
});

test("the kept cell is drawn in order and recognised as detached", () => {
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

test("estimated heights grow with lines and outputs", () => {
  const state = stateOf([fakeCell("a", "x"), fakeCell("b", "x\ny\nz"), fakeCell("c", "x")], {
    executions: { c: fakeExecution({ outputs: [{ output_type: "stream", name: "stdout", text: "hi" }] }) },
  });
  expect(estimateCellHeight(state, "b") - estimateCellHeight(state, "a")).toBe(40);
  expect(estimateCellHeight(state, "c")).toBeGreaterThan(estimateCellHeight(state, "a"));
});
