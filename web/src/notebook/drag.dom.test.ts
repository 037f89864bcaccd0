import { expect, test } from "vitest";
import { createStore } from "../store/store";
import { indexAfterDrop, scrollStep, startCellDrag } from "./drag";
import { fakeCell, fakeCommands, stateOfCells } from "./fakeNotebook";
import { createNotebookContext } from "./notebookContext";

test("the index after a drop does not count the dragged cell", () => {
  expect(indexAfterDrop(2, 0)).toBe(0);
  expect(indexAfterDrop(2, 2)).toBe(2);
  expect(indexAfterDrop(2, 3)).toBe(2);
  expect(indexAfterDrop(2, 5)).toBe(4);
});

test("the list scrolls faster the nearer the pointer is to an edge", () => {
  expect(scrollStep(400, 0, 800)).toBe(0);
  expect(scrollStep(790, 0, 800)).toBeGreaterThan(scrollStep(760, 0, 800));
  expect(scrollStep(10, 0, 800)).toBeLessThan(0);
  expect(scrollStep(5000, 0, 800)).toBe(18);
});

function setupDrag() {
  const store = createStore(stateOfCells(["a", "b", "c", "d"].map((id) => fakeCell(id))));
  const commands = fakeCommands(store);
  const context = createNotebookContext(store, () => commands);
  const list = { scroller: null, insertIndexAt: (y: number) => y / 100 };
  return { desk: context, commands, drag: startCellDrag(context, list, "b") };
}

test("a dropped cell is moved", () => {
  const { desk: context, commands, drag: moving } = setupDrag();
  moving.moveTo(400);
  expect(context.view.get().dropIndex).toBe(4);
  moving.drop();
  expect(commands.moveCell.mock.calls).toEqual([["b", 3]]);
  expect(context.view.get().dropIndex).toBeNull();
});

test("a cell dropped at its position, or whose drag is cancelled, is not moved", () => {
  const first = setupDrag();
  first.drag.moveTo(200);
  first.drag.drop();
  expect(first.commands.moveCell).not.toHaveBeenCalled();
  const second = setupDrag();
  second.drag.moveTo(400);
  second.drag.cancel();
  second.drag.drop();
  expect(second.commands.moveCell).not.toHaveBeenCalled();
  expect(second.desk.view.get().dropIndex).toBeNull();
});
