import { expect, test } from "vitest";
import { detachedCellIndex, estimateCellHeight, indexesOfDrawnCells, scrollAlignmentOfCell } from "./cellLayout";
import { fakeCell, fakeExecution, stateOfCells } from "./fakeNotebook";

const visiblePixelRange = { start: 1000, end: 1800 };

test("a completely visible cell does not scroll the list", () => {
  expect(scrollAlignmentOfCell({ start: 1000, end: 1100 }, visiblePixelRange)).toBeNull();
});

test("a cell near the view scrolls to its edge, a distant one to its middle", () => {
  expect(scrollAlignmentOfCell({ start: 1790, end: 1900 }, visiblePixelRange)).toBe("auto");
  expect(scrollAlignmentOfCell({ start: 900, end: 999 }, visiblePixelRange)).toBe("auto");
  expect(scrollAlignmentOfCell({ start: 9000, end: 9100 }, visiblePixelRange)).toBe("center");
});

test("a cell higher than the view scrolls to its nearer end, unless much of it is visible", () => {
  expect(scrollAlignmentOfCell({ start: 1900, end: 4000 }, visiblePixelRange)).toBe("start");
  expect(scrollAlignmentOfCell({ start: 0, end: 950 }, visiblePixelRange)).toBe("end");
  expect(scrollAlignmentOfCell({ start: 1300, end: 4000 }, visiblePixelRange)).toBeNull();
  expect(scrollAlignmentOfCell({ start: 1700, end: 4000 }, visiblePixelRange)).toBe("start");
});

test("the kept cell is drawn in order and recognised as detached", () => {
  expect(indexesOfDrawnCells([4, 5, 6], 900)).toEqual([4, 5, 6, 900]);
  expect(indexesOfDrawnCells([4, 5, 6], 1)).toEqual([1, 4, 5, 6]);
  expect(indexesOfDrawnCells([4, 5, 6], 5)).toEqual([4, 5, 6]);
  expect(indexesOfDrawnCells([4, 5, 6], -1)).toEqual([4, 5, 6]);
  expect(detachedCellIndex([4, 5, 6, 900], 900)).toBe(900);
  expect(detachedCellIndex([1, 4, 5, 6], 1)).toBe(1);
  expect(detachedCellIndex([4, 5, 6, 7], 7)).toBe(-1);
  expect(detachedCellIndex([3, 4, 5], 3)).toBe(-1);
  expect(detachedCellIndex([3], 3)).toBe(-1);
});

test("estimated heights grow with lines and outputs", () => {
  const state = stateOfCells([fakeCell("a", "x"), fakeCell("b", "x\ny\nz"), fakeCell("c", "x")], {
    executions: { c: fakeExecution({ outputs: [{ output_type: "stream", name: "stdout", text: "hi" }] }) },
  });
  expect(estimateCellHeight(state, "b") - estimateCellHeight(state, "a")).toBe(40);
  expect(estimateCellHeight(state, "c")).toBeGreaterThan(estimateCellHeight(state, "a"));
});
