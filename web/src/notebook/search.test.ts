import { expect, test } from "vitest";
import { findAll, maxHits, nextHit } from "./search";

const texts: Record<string, string> = { a: "One (two) one", b: "", c: "tone" };
const source = (id: string) => texts[id] ?? "";
const find = (wanted: string) => findAll(["a", "b", "c"], { source, outputs: () => "" }, wanted);

test("finds the text in all cells, in order, whatever the case", () => {
  expect(find("one")).toEqual([
    { id: "a", from: 0, to: 3, inOutputs: null },
    { id: "a", from: 10, to: 13, inOutputs: null },
    { id: "c", from: 1, to: 4, inOutputs: null },
  ]);
});

test("takes what means something in a pattern for itself", () => {
  expect(find("(two)")).toEqual([{ id: "a", from: 4, to: 9, inOutputs: null }]);
  expect(find(".*")).toEqual([]);
  expect(find("")).toEqual([]);
});

test("finds what a cell has shown behind its source", () => {
  expect(
    findAll(["a"], { source, outputs: () => "one: ONE" }, "one").map(({ from, inOutputs }) => [from, inOutputs?.nth]),
  ).toEqual([
    [0, undefined],
    [10, undefined],
    [0, 0],
    [5, 1],
  ]);
});

test("stops at very many", () => {
  const much = () => "a".repeat(100_000);
  expect(findAll(["x", "y"], { source: much, outputs: much }, "a")).toHaveLength(maxHits);
});

test("goes round and round", () => {
  const hits = find("one");
  const [first, second, third] = hits;
  expect(nextHit(hits, null, 1)).toBe(first);
  expect(nextHit(hits, null, -1)).toBe(third);
  expect(nextHit(hits, first ?? null, 1)).toBe(second);
  expect(nextHit(hits, third ?? null, 1)).toBe(first);
  expect(nextHit(hits, first ?? null, -1)).toBe(third);
  expect(nextHit([], first ?? null, 1)).toBeNull();
});
