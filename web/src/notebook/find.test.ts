import { expect, test } from "vitest";
import { findAll, maxHits, nextHit } from "./find";

const texts: Record<string, string> = { a: "One (two) one", b: "", c: "tone" };
const find = (wanted: string) => findAll(["a", "b", "c"], (id) => texts[id] ?? "", wanted);

test("finds the text in all cells, in order, whatever the case", () => {
  expect(find("one")).toEqual([
    { id: "a", from: 0, to: 3 },
    { id: "a", from: 10, to: 13 },
    { id: "c", from: 1, to: 4 },
  ]);
});

test("takes what means something in a pattern for itself", () => {
  expect(find("(two)")).toEqual([{ id: "a", from: 4, to: 9 }]);
  expect(find(".*")).toEqual([]);
  expect(find("")).toEqual([]);
});

test("stops at very many", () => {
  expect(findAll(["x"], () => "a".repeat(100_000), "a")).toHaveLength(maxHits);
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
