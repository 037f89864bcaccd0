import { expect, test } from "vitest";
import { createDeletedCells, deletedCellOf, restoreIndexOfCell } from "./deletedCells";
import { fakeCell, stateOfCells } from "./fakeNotebook";

const fourCellState = stateOfCells(["a", "b", "c", "d"].map((id) => fakeCell(id)));

function deletedCell(id: string, before: string | null, after: string | null, position: number) {
  return {
    id,
    type: "code" as const,
    source: "",
    title: "",
    hadOutputs: false,
    position,
    previousId: before,
    nextId: after,
  };
}

test("a snapshot has the cell's content and position", () => {
  const titled = stateOfCells([fakeCell("a"), fakeCell("b", "old", { type: "markdown", title: "Why" })]);
  expect(deletedCellOf(titled, "b", "new")).toEqual({
    id: "b",
    type: "markdown",
    source: "new",
    title: "Why",
    hadOutputs: false,
    position: 1,
    previousId: "a",
    nextId: null,
  });
  expect(deletedCellOf(fourCellState, "none", "")).toBeNull();
});

test("a cell is restored next to its remaining neighbour", () => {
  const b = deletedCell("b", "a", "c", 1);
  expect(restoreIndexOfCell(b, ["x", "y", "a", "c"])).toBe(3);
  expect(restoreIndexOfCell(b, ["x", "y", "c"])).toBe(2);
  expect(restoreIndexOfCell(b, ["x", "y", "z"])).toBe(1);
  expect(restoreIndexOfCell(b, [])).toBe(0);
});

test("the newest deleted cell is restored first, or the named one", () => {
  const bin = createDeletedCells();
  const [a, b, c] = ["a", "b", "c"].map((id, i) => deletedCell(id, null, null, i));
  for (const each of [a, b, c]) if (each) bin.add(each);
  expect(bin.take([], b)?.id).toBe("b");
  expect(bin.take([], b)).toBeNull();
  expect(bin.take([])?.id).toBe("c");
  expect(bin.take([])?.id).toBe("a");
  expect(bin.take([])).toBeNull();
});

test("a cell whose deletion was only requested is not restored before it is deleted", () => {
  const bin = createDeletedCells();
  for (const each of [deletedCell("a", null, null, 0), deletedCell("b", null, null, 1)]) bin.add(each);
  expect(bin.take(["b"])?.id).toBe("a");
  expect(bin.take(["b"])).toBeNull();
  expect(bin.take([])?.id).toBe("b");
});

test("a restored neighbour is found under its new id", () => {
  const bin = createDeletedCells();
  bin.add(deletedCell("b", "a", "c", 1));
  bin.add(deletedCell("a", null, "c", 0));
  bin.take([]);
  bin.replaceId("a", "a2");
  const b = bin.take([]);
  expect(b && restoreIndexOfCell(b, ["x", "a2", "c"])).toBe(2);
});
