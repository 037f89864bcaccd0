import { expect, test } from "vitest";
import { read } from "../../json/schema";
import { attemptLineSchema } from "../../protocol/api.gen";
import type { Cell, Notebook } from "../../store/state";
import { alignCells } from "./alignCells";
import { comparedFiguresOf } from "./figures";
import { lineDiff } from "./lineDiff";

function diffLinesWithSigns(a: string, b: string): string[] {
  const signs = { same: " ", removed: "-", added: "+" };
  return lineDiff(a, b).map(({ kind, text }) => signs[kind] + text);
}

test("lineDiff marks only differing lines", () => {
  expect(diffLinesWithSigns("a\nb\nc\nd", "a\nB\nc\nx\nd")).toEqual([" a", "-b", "+B", " c", "+x", " d"]);
  expect(diffLinesWithSigns("a\nb\nc", "b\nc\na")).toEqual(["-a", " b", " c", "+a"]);
  expect(diffLinesWithSigns("", "x\n")).toEqual(["+x"]);
  expect(diffLinesWithSigns("x", "")).toEqual(["-x"]);
  expect(diffLinesWithSigns("x\n", "x")).toEqual([" x"]);
});

test("a diff contains both texts", () => {
  const a = Array.from({ length: 60 }, (_, i) => `line ${(i * 7) % 13}`);
  const b = Array.from({ length: 50 }, (_, i) => `line ${(i * 5) % 11}`);
  const lines = lineDiff(a.join("\n"), b.join("\n"));
  expect(lines.filter((line) => line.kind !== "added").map((line) => line.text)).toEqual(a);
  expect(lines.filter((line) => line.kind !== "removed").map((line) => line.text)).toEqual(b);
});

test("very long texts are not compared line by line", () => {
  const a = Array.from({ length: 20_000 }, (_, i) => `a${i}`).join("\n");
  const b = Array.from({ length: 20_000 }, (_, i) => `b${i}`).join("\n");
  expect(lineDiff(`same\n${a}`, `same\n${b}`)).toHaveLength(40_001);
});

function notebookOfSources(...sources: string[]): Notebook {
  const cells = sources.map((source, at): Cell => ({ id: `c${at}`, type: "code", source, title: "", rev: 1 }));
  return {
    seq: 1,
    order: cells.map((cell) => cell.id),
    cells: Object.fromEntries(cells.map((cell) => [cell.id, cell])),
    executions: {},
    queue: [],
    kernel: "dead",
  };
}

function sourcesOfAlignedCells(a: Notebook, b: Notebook): (readonly [string | undefined, string | undefined])[] {
  return alignCells(a, b).map((pair) => [pair.a?.source, pair.b?.source]);
}

test("alignCells matches similar cells", () => {
  expect(
    sourcesOfAlignedCells(notebookOfSources("x = 1\ny = 2", "z"), notebookOfSources("new", "x = 1\ny = 3", "z")),
  ).toEqual([
    [undefined, "new"],
    ["x = 1\ny = 2", "x = 1\ny = 3"],
    ["z", "z"],
  ]);
  expect(sourcesOfAlignedCells(notebookOfSources("a"), notebookOfSources("b"))).toEqual([
    ["a", undefined],
    [undefined, "b"],
  ]);
  expect(sourcesOfAlignedCells(notebookOfSources(), notebookOfSources())).toEqual([]);
});

test("of two similar cells the identical one is matched", () => {
  expect(sourcesOfAlignedCells(notebookOfSources("p\nq"), notebookOfSources("p\nr", "p\nq"))).toEqual([
    [undefined, "p\nr"],
    ["p\nq", "p\nq"],
  ]);
});

test("large notebooks are matched by position without losing cells", () => {
  const many = notebookOfSources(...Array.from({ length: 600 }, (_, i) => `${i}`));
  expect(alignCells(many, many)).toHaveLength(600);
});

test("differences have a sign and a percentage", () => {
  const line = (ms: number, passed: boolean) => ({
    type: "attempt",
    case_id: "c",
    outcome: "completed",
    passed,
    duration_ms: ms,
    graders: [{ type: "exact", passed }],
  });
  const figures = comparedFiguresOf(line(1000, true), line(1500, false));
  const named = (name: string) => figures.find((figure) => figure.name === name);
  expect(named("Duration")).toMatchObject({ a: "1.0 s", b: "1.5 s", difference: "+500 ms, +50 %" });
  expect(named("Verdict")).toMatchObject({ a: "passed", b: "failed", differs: true });
  expect(named("Grader 1, exact")).toMatchObject({ a: "passed", b: "failed" });
  expect(named("Case")).toMatchObject({ differs: false });
});

test.each([{}, { type: "attempt", graders: "x", usage: 3 }, { type: "attempt", graders: [null, 4] }])(
  "any line has figures: %j",
  (line) => {
    expect(() => comparedFiguresOf(read(attemptLineSchema, line), {})).not.toThrow();
  },
);
