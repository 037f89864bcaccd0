import { expect, test } from "vitest";
import { createDeletedCells, restoreIndex, snapshotCell } from "./deletedCells";
import { fakeCell, stateOf } from "./fakeNotebook";

const state = stateOf(["a", "b", "c", "d"].map((id) => fakeCell(id)));

function removed(id: string, before: string | null, after: string | null, position: number) {
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

test("knows what the cell was and where it stood", () => {
  const titled = stateOf([fakeCell("a"), fakeCell("b", "old", { type: "markdown", title: "Why" })]);
  expect(snapshotCell(titled, "b", "new")).toEqual({
    id: "b",
    type: "markdown",
    source: "new",
    title: "Why",
    hadOutputs: false,
    position: 1,
    previousId: "a",
    nextId: null,
  });
  expect(snapshotCell(state, "none", "")).toBeNull();
});

test("a cell comes back beside the neighbour that is left", () => {
  const b = removed("b", "a", "c", 1);
  expect(restoreIndex(b, ["x", "y", "a", "c"])).toBe(3);
  expect(restoreIndex(b, ["x", "y", "c"])).toBe(2);
  expect(restoreIndex(b, ["x", "y", "z"])).toBe(1);
  expect(restoreIndex(b, [])).toBe(0);
});

test("the newest comes back first, or the one that is meant", () => {
  const bin = createDeletedCells();
  const [a, b, c] = ["a", "b", "c"].map((id, i) => removed(id, null, null, i));
  for (const each of [a, b, c]) if (each) bin.add(each);
  expect(bin.take([], b)?.id).toBe("b");
  expect(bin.take([], b)).toBeNull();
  expect(bin.take([])?.id).toBe("c");
  expect(bin.take([])?.id).toBe("a");
  expect(bin.take([])).toBeNull();
});

test("what was asked to be deleted and still stands does not come back, until it is gone", () => {
  const bin = createDeletedCells();
  for (const each of [removed("a", null, null, 0), removed("b", null, null, 1)]) bin.add(each);
  expect(bin.take(["b"])?.id).toBe("a");
  expect(bin.take(["b"])).toBeNull();
  expect(bin.take([])?.id).toBe("b");
});

test("neighbours are found under the id that they came back with", () => {
  const bin = createDeletedCells();
  bin.add(removed("b", "a", "c", 1));
  bin.add(removed("a", null, "c", 0));
  bin.take([]);
  bin.replaceId("a", "a2");
  const b = bin.take([]);
  expect(b && restoreIndex(b, ["x", "a2", "c"])).toBe(2);
});
