import { expect, test } from "vitest";
import { withQuery } from "../api/client";
import {
  activeFilters,
  flowQueryOfFilters,
  hasFilter,
  initialFilters,
  noFilters,
  withFilterFromInput,
} from "./filters";
import { parsePosition } from "./tracePosition";

test("no filters give no query parameters", () => {
  expect(withQuery("/flow", flowQueryOfFilters(noFilters))).toBe("/flow");
  expect(hasFilter(noFilters)).toBe(false);
});

test("filters become query parameters", () => {
  const filters = {
    ...noFilters,
    text: 'Größe "',
    tx: "tx_1…",
    action: "a&b",
    hop: "agent>server",
    cell: "",
    late: 5000,
  };
  expect(withQuery("/flow", flowQueryOfFilters(filters))).toBe(
    "/flow?text=Gr%C3%B6%C3%9Fe+%22&tx=tx_1%E2%80%A6&action=a%26b&hop=agent%3Eserver&late=5000",
  );
});

test("hidden stream frames are excluded by a parameter", () => {
  expect(withQuery("/flow", flowQueryOfFilters(initialFilters))).toBe("/flow?streams=false");
  expect(hasFilter(initialFilters)).toBe(false);
  expect(activeFilters(initialFilters)).toEqual([]);
});

test("input is trimmed, and empty input removes a filter", () => {
  expect(withFilterFromInput(noFilters, "tx", "  tx_1\n")).toEqual({ ...noFilters, tx: "tx_1" });
  expect(withFilterFromInput({ ...noFilters, tx: "tx_1", late: 3 }, "tx", "")).toEqual({ ...noFilters, late: 3 });
  expect(withFilterFromInput({ ...noFilters, late: 3 }, "late", " ")).toEqual(noFilters);
});

test.each(["0", "-1", "1.5", "soon", "1e99", "NaN"])("%s is not a number of milliseconds", (written) => {
  expect(withFilterFromInput(noFilters, "late", written)).toMatch(/milliseconds/);
});

test("a delay in milliseconds may have a unit", () => {
  expect(withFilterFromInput(noFilters, "late", "250 ms")).toEqual({ ...noFilters, late: 250 });
});

test("a hop that the API does not know is refused", () => {
  expect(withFilterFromInput(noFilters, "hop", "agent>moon")).toMatch(/Unknown hop/);
});

test("activeFilters lists each filter that is set", () => {
  const chips = activeFilters({ ...noFilters, cell: "c1", late: 40 });
  expect(chips).toEqual([
    { kind: "cell", text: "c1" },
    { kind: "late", text: "40 ms" },
  ]);
});

test("positions are entry numbers or seconds", () => {
  expect(parsePosition("120")).toEqual({ seq: 120 });
  expect(parsePosition(" #7 ")).toEqual({ seq: 7 });
  expect(parsePosition("0")).toEqual({ seq: 1 });
  expect(parsePosition("+12.5")).toEqual({ ms: 12_500 });
  expect(parsePosition("12s")).toEqual({ ms: 12_000 });
  expect(parsePosition(".25")).toEqual({ ms: 250 });
  for (const text of ["", "-1", "later", "1,5", "9".repeat(40)]) expect(parsePosition(text)).toBeNull();
});
