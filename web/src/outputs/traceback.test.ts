import { expect, test } from "vitest";
import { splitTraceback } from "./traceback";

const pythonTraceback = (n: number) =>
  [
    "Traceback (most recent call last):",
    ...Array.from({ length: n }, (_, i) => `  File "<a>", line ${i}, in f\n    g()`),
    "E: x",
  ].join("\n");

test("a traceback of four frames is not split", () => {
  expect(splitTraceback(pythonTraceback(4))).toEqual({
    earlierFrames: "",
    earlierFrameCount: 0,
    recentFrames: pythonTraceback(4),
  });
});

test("all but the last three frames of a long traceback are hidden", () => {
  const { earlierFrames, earlierFrameCount, recentFrames } = splitTraceback(pythonTraceback(10));
  expect(earlierFrameCount).toBe(7);
  expect(earlierFrames.split("\n")).toHaveLength(14);
  expect(recentFrames).toBe(
    'Traceback (most recent call last):\n  File "<a>", line 7, in f\n    g()\n  File "<a>", line 8, in f\n    g()\n  File "<a>", line 9, in f\n    g()\nE: x',
  );
});

test("coloured IPython frames are recognized", () => {
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
  const { earlierFrameCount, earlierFrames, recentFrames } = splitTraceback(text);
  expect(earlierFrameCount).toBe(2);
  expect(earlierFrames).toBe(`${frame(1)}\n${frame(2)}`);
  expect(recentFrames).toContain("E: x");
});

test("text that is not a traceback is not split", () => {
  for (const text of ["", "x", "\n".repeat(1000), '  File "'.repeat(10_000)]) {
    expect(splitTraceback(text).recentFrames).toBe(text);
  }
});
