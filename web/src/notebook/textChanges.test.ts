import { expect, test } from "vitest";
import { changesBetween, type TextChange } from "./textChanges";

function apply(text: string, changes: readonly TextChange[]): string {
  return changes.reduceRight((now, { from, to, insert }) => now.slice(0, from) + insert + now.slice(to), text);
}

/** Numbers that look random and are the same each time. */
function dice(seed: number): (sides: number) => number {
  let now = seed;
  return (sides) => {
    now = (now * 1103515245 + 12345) % 2147483648;
    return Math.floor((now / 2147483648) * sides);
  };
}

test("makes any text of any other, in order and without overlaps", () => {
  const roll = dice(7);
  const text = () => Array.from({ length: roll(12) }, () => "ab\nc"[roll(4)]).join("");
  for (let i = 0; i < 3000; i++) {
    const [before, after] = [text(), text()];
    const changes = changesBetween(before, after);
    expect(apply(before, changes), JSON.stringify([before, after])).toBe(after);
    for (const [at, change] of changes.entries()) {
      expect(change.from).toBeGreaterThanOrEqual(changes[at - 1]?.to ?? 0);
      expect(change.to).toBeGreaterThanOrEqual(change.from);
    }
  }
});

test("says nothing of what stays between two changes", () => {
  const before = "import os\nkeep = 1\nlast = 2\n";
  const after = "# new\nimport os\nkeep = 1\nlast = 3\n";
  expect(changesBetween(before, after)).toEqual([
    { from: 0, to: 0, insert: "# new\n" },
    { from: 26, to: 27, insert: "3" },
  ]);
});

test("equal texts need no change", () => {
  expect(changesBetween("a\nb", "a\nb")).toEqual([]);
});

test("texts that differ in thousands of lines are one change, and soon found", () => {
  const before = Array.from({ length: 3000 }, (_, i) => `a${i}\n`).join("");
  const after = Array.from({ length: 3000 }, (_, i) => `b${i}\n`).join("");
  const changes = changesBetween(before, after);
  expect(changes).toHaveLength(1);
  expect(apply(before, changes)).toBe(after);
});
