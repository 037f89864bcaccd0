import { expect, test } from "vitest";
import { findHitsInCells, maxSearchHits, nextHit } from "./search";

const sourceTexts: Record<string, string> = { a: "One (two) one", b: "", c: "tone" };
const sourceText = (id: string) => sourceTexts[id] ?? "";
const findHitsInThreeCells = (wanted: string) =>
  findHitsInCells(["a", "b", "c"], { source: sourceText, outputs: () => "" }, wanted);

test("finds a text in all cells in order, ignoring case", () => {
  expect(findHitsInThreeCells("one")).toEqual([
    { id: "a", from: 0, to: 3, inOutputs: null },
    { id: "a", from: 10, to: 13, inOutputs: null },
    { id: "c", from: 1, to: 4, inOutputs: null },
  ]);
});

test("treats regular expression characters as text", () => {
  expect(findHitsInThreeCells("(two)")).toEqual([{ id: "a", from: 4, to: 9, inOutputs: null }]);
  expect(findHitsInThreeCells(".*")).toEqual([]);
  expect(findHitsInThreeCells("")).toEqual([]);
});

test("finds hits in a cell's outputs after those in its source", () => {
  expect(
    findHitsInCells(["a"], { source: sourceText, outputs: () => "one: ONE" }, "one").map(({ from, inOutputs }) => [
      from,
      inOutputs?.nth,
    ]),
  ).toEqual([
    [0, undefined],
    [10, undefined],
    [0, 0],
    [5, 1],
  ]);
});

test("stops at the maximum number of hits", () => {
  const much = () => "a".repeat(100_000);
  expect(findHitsInCells(["x", "y"], { source: much, outputs: much }, "a")).toHaveLength(maxSearchHits);
});

test("nextHit wraps around in both directions", () => {
  const hits = findHitsInThreeCells("one");
  const [first, second, third] = hits;
  expect(nextHit(hits, null, 1)).toBe(first);
  expect(nextHit(hits, null, -1)).toBe(third);
  expect(nextHit(hits, first ?? null, 1)).toBe(second);
  expect(nextHit(hits, third ?? null, 1)).toBe(first);
  expect(nextHit(hits, first ?? null, -1)).toBe(third);
  expect(nextHit([], first ?? null, 1)).toBeNull();
});
