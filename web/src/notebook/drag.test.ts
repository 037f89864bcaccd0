import { expect, test } from "vitest";
import { createStore } from "../store/store";
import { createDesk } from "./desk";
import { placeAfterDrop, scrollStep, startDrag } from "./drag";
import { cell, fakeCommands, stateOf } from "./fakeNotebook";

test("a place is counted when the cell has been taken out", () => {
  expect(placeAfterDrop(2, 0)).toBe(0);
  expect(placeAfterDrop(2, 2)).toBe(2);
  expect(placeAfterDrop(2, 3)).toBe(2);
  expect(placeAfterDrop(2, 5)).toBe(4);
});

test("near an edge the list scrolls, the nearer the faster", () => {
  expect(scrollStep(400, 0, 800)).toBe(0);
  expect(scrollStep(790, 0, 800)).toBeGreaterThan(scrollStep(760, 0, 800));
  expect(scrollStep(10, 0, 800)).toBeLessThan(0);
  expect(scrollStep(5000, 0, 800)).toBe(18);
});

function drag() {
  const store = createStore(stateOf(["a", "b", "c", "d"].map((id) => cell(id))));
  const commands = fakeCommands(store);
  const desk = createDesk(store, () => commands);
  const list = { scroller: null, placeAt: (y: number) => y / 100 };
  return { desk, commands, drag: startDrag(desk, list, "b") };
}

test("a cell that is let fall is moved there", () => {
  const { desk, commands, drag: moving } = drag();
  moving.to(400);
  expect(desk.view.get().drop).toBe(4);
  moving.drop();
  expect(commands.moveCell.mock.calls).toEqual([["b", 3]]);
  expect(desk.view.get().drop).toBeNull();
});

test("a cell that is let fall where it was, or whose drag is given up, stays", () => {
  const first = drag();
  first.drag.to(200);
  first.drag.drop();
  expect(first.commands.moveCell).not.toHaveBeenCalled();
  const second = drag();
  second.drag.to(400);
  second.drag.cancel();
  second.drag.drop();
  expect(second.commands.moveCell).not.toHaveBeenCalled();
  expect(second.desk.view.get().drop).toBeNull();
});
