import { expect, test } from "vitest";
import { changesBetween, type TextChange } from "./textChanges";

function applyChanges(text: string, changes: readonly TextChange[]): string {
  return changes.reduceRight((now, { from, to, insert }) => now.slice(0, from) + insert + now.slice(to), text);
}

/**
 * Returns a generator of pseudo-random integers from 0 to sides - 1. It gives the same numbers for
 * the same seed.
 */
function seededRandom(seed: number): (sides: number) => number {
  let now = seed;
  return (sides) => {
    now = (now * 1103515245 + 12345) % 2147483648;
    return Math.floor((now / 2147483648) * sides);
  };
}

test("changes turn any text into any other, in order and without overlaps", () => {
  const roll = seededRandom(7);
  const text = () => Array.from({ length: roll(12) }, () => "ab\nc"[roll(4)]).join("");
  for (let i = 0; i < 3000; i++) {
    const [before, after] = [text(), text()];
    const changes = changesBetween(before, after);
    expect(applyChanges(before, changes), JSON.stringify([before, after])).toBe(after);
    for (const [at, change] of changes.entries()) {
      expect(change.from).toBeGreaterThanOrEqual(changes[at - 1]?.to ?? 0);
      expect(change.to).toBeGreaterThanOrEqual(change.from);
    }
  }
});

test("unchanged text between two changes is not in the changes", () => {
  const before = "import os\nkeep = 1\nlast = 2\n";
  const after = "# new\nimport os\nkeep = 1\nlast = 3\n";
  expect(changesBetween(before, after)).toEqual([
    { from: 0, to: 0, insert: "# new\n" },
    { from: 26, to: 27, insert: "3" },
  ]);
});

test("equal texts give no changes", () => {
  expect(changesBetween("a\nb", "a\nb")).toEqual([]);
});

test("texts that differ in thousands of lines give one change quickly", () => {
  const before = Array.from({ length: 3000 }, (_, i) => `a${i}\n`).join("");
  const after = Array.from({ length: 3000 }, (_, i) => `b${i}\n`).join("");
  const changes = changesBetween(before, after);
  expect(changes).toHaveLength(1);
  expect(applyChanges(before, changes)).toBe(after);
});
