import { expect, test } from "vitest";
import {
  formatBytes,
  formatCost,
  formatCount,
  formatCountOf,
  formatDateTime,
  formatDuration,
  formatPercent,
  formatScore,
} from "./format";

test("formats numbers briefly, and null as a dash", () => {
  expect([null, 0, 12.4, 999.4, 999.6, 1234, 59_949, 59_960, 125_000, 3_780_000].map(formatDuration)).toEqual([
    "–",
    "0 ms",
    "12 ms",
    "999 ms",
    "1.0 s",
    "1.2 s",
    "59.9 s",
    "1 min 00 s",
    "2 min 05 s",
    "1 h 03 min",
  ]);
  expect([null, 0, 0.00123, 0.0123, 0.5, 12].map(formatCost)).toEqual([
    "–",
    "$0.00",
    "$0.0012",
    "$0.012",
    "$0.500",
    "$12.00",
  ]);
  expect([null, 9876, 12_345, 4_500_000].map(formatCount)).toEqual(["–", "9,876", "12.3 k", "4.5 M"]);
  expect([null, 0, 1023, 1024, 5 * 1024 ** 2].map(formatBytes)).toEqual(["–", "0 B", "1023 B", "1.0 KiB", "5.0 MiB"]);
  expect([formatPercent(null), formatPercent(0.964), formatPercent(0.964, 1)]).toEqual(["–", "96 %", "96.4 %"]);
});

test("formats impossible numbers as a question mark", () => {
  expect([Number.NaN, -1, Number.POSITIVE_INFINITY].map(formatDuration)).toEqual(["?", "?", "?"]);
  expect([
    formatCost(-1),
    formatCount(Number.NaN),
    formatBytes(-1),
    formatPercent(1e9),
    formatScore(1e300),
    formatDateTime(1e300),
  ]).toEqual(Array(6).fill("?"));
});

test("adds the noun in singular or plural", () => {
  expect([0, 1, 12_345].map((n) => formatCountOf(n, "line"))).toEqual(["0 lines", "1 line", "12,345 lines"]);
});
