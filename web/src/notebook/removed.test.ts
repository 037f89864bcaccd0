import { expect, test } from "vitest";
import { cell, stateOf } from "./fakeNotebook";
import { createBin, placeOf, removedCell } from "./removed";

const state = stateOf(["a", "b", "c", "d"].map((id) => cell(id)));

function removed(id: string, before: string | null, after: string | null, position: number) {
  return { id, type: "code" as const, source: "", title: "", hadOutputs: false, position, before, after };
}

test("knows what the cell was and where it stood", () => {
  const titled = stateOf([cell("a"), cell("b", "old", { type: "markdown", title: "Why" })]);
  expect(removedCell(titled, "b", "new")).toEqual({
    id: "b",
    type: "markdown",
    source: "new",
    title: "Why",
    hadOutputs: false,
    position: 1,
    before: "a",
    after: null,
  });
  expect(removedCell(state, "none", "")).toBeNull();
});

test("a cell comes back beside the neighbour that is left", () => {
  const b = removed("b", "a", "c", 1);
  expect(placeOf(b, ["x", "y", "a", "c"])).toBe(3);
  expect(placeOf(b, ["x", "y", "c"])).toBe(2);
  expect(placeOf(b, ["x", "y", "z"])).toBe(1);
  expect(placeOf(b, [])).toBe(0);
});

test("the newest comes back first, or the one that is meant", () => {
  const bin = createBin();
  const [a, b, c] = ["a", "b", "c"].map((id, i) => removed(id, null, null, i));
  for (const each of [a, b, c]) if (each) bin.put(each);
  expect(bin.take([], b)?.id).toBe("b");
  expect(bin.take([], b)).toBeNull();
  expect(bin.take([])?.id).toBe("c");
  expect(bin.take([])?.id).toBe("a");
  expect(bin.take([])).toBeNull();
});

test("what was asked to be deleted and still stands does not come back, until it is gone", () => {
  const bin = createBin();
  for (const each of [removed("a", null, null, 0), removed("b", null, null, 1)]) bin.put(each);
  expect(bin.take(["b"])?.id).toBe("a");
  expect(bin.take(["b"])).toBeNull();
  expect(bin.take([])?.id).toBe("b");
});

test("neighbours are found under the id that they came back with", () => {
  const bin = createBin();
  bin.put(removed("b", "a", "c", 1));
  bin.put(removed("a", null, "c", 0));
  bin.take([]);
  bin.rename("a", "a2");
  const b = bin.take([]);
  expect(b && placeOf(b, ["x", "a2", "c"])).toBe(2);
});
