import { expect, test } from "vitest";
import { splitTraceback } from "./traceback";

const python = (n: number) =>
  [
    "Traceback (most recent call last):",
    ...Array.from({ length: n }, (_, i) => `  File "<a>", line ${i}, in f\n    g()`),
    "E: x",
  ].join("\n");

test("a short traceback is whole", () => {
  expect(splitTraceback(python(4))).toEqual({ earlier: "", count: 0, recent: python(4) });
});

test("of a long one the last three frames stay", () => {
  const { earlier, count, recent } = splitTraceback(python(10));
  expect(count).toBe(7);
  expect(earlier.split("\n")).toHaveLength(14);
  expect(recent).toBe(
    'Traceback (most recent call last):\n  File "<a>", line 7, in f\n    g()\n  File "<a>", line 8, in f\n    g()\n  File "<a>", line 9, in f\n    g()\nE: x',
  );
});

test("IPython's frames, in colour", () => {
  const frame = (n: number) => `\x1b[36mCell In[${n}], line 1\x1b[0m\n\x1b[32m----> 1\x1b[0m f()`;
  const library = "File \x1b[32m/usr/lib/python3/x.py:12\x1b[0m, in g(a)\n     12 raise E";
  const text = [
    "---------\nE   Traceback (most recent call last)",
    frame(1),
    frame(2),
    frame(3),
    library,
    library,
    "E: x",
  ].join("\n");
  const { count, earlier, recent } = splitTraceback(text);
  expect(count).toBe(2);
  expect(earlier).toBe(`${frame(1)}\n${frame(2)}`);
  expect(recent).toContain("E: x");
});

test("what is no traceback stays as it is", () => {
  for (const text of ["", "x", "\n".repeat(1000), '  File "'.repeat(10_000)]) {
    expect(splitTraceback(text).recent).toBe(text);
  }
});
