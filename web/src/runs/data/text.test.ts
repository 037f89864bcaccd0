import { expect, test } from "vitest";
import { cost, count, duration, percent, size } from "./format";
import { comparePath, readName } from "./paths";
import { visible } from "./visible";

test("what cannot be seen is written out, and long names end", () => {
  expect(visible("a\u202eb\u0000\n")).toBe("a\\u202eb\\u0000\\u000a");
  expect(visible("<b>")).toBe("<b>");
  expect(visible("\ud800")).toBe("\\ud800");
  expect(visible("x".repeat(9999))).toHaveLength(301);
});

test("numbers are short, and nothing is a dash", () => {
  expect([null, 0, 999, 1234, 59_949, 59_960, 125_000, 3_780_000].map(duration)).toEqual([
    "–",
    "0 ms",
    "999 ms",
    "1.2 s",
    "59.9 s",
    "1 min 00 s",
    "2 min 05 s",
    "1 h 03 min",
  ]);
  expect([null, 0, 0.00123, 0.0123, 0.5, 12].map(cost)).toEqual([
    "–",
    "$0.00",
    "$0.0012",
    "$0.012",
    "$0.500",
    "$12.00",
  ]);
  expect([null, 9876, 12_345, 4_500_000].map(count)).toEqual(["–", "9,876", "12.3 k", "4.5 M"]);
  expect([null, 0, 1023, 1024, 5 * 1024 ** 2].map(size)).toEqual(["–", "0 B", "1023 B", "1.0 KiB", "5.0 MiB"]);
  expect([percent(null), percent(0.964), percent(0.964, 1)]).toEqual(["–", "96 %", "96.4 %"]);
});

test("names come out of an address as they went in", () => {
  const a = { run: "50% of/it&b=1#?", attempt: "a+b ö" };
  const parameters = new URL(comparePath(a, null), "http://x").searchParams;
  expect(readName(parameters.get("a"))).toEqual(a);
  expect(parameters.get("b")).toBeNull();
  expect([null, "", "one", "a/b/c", "/b"].map(readName)).toEqual([null, null, null, null, null]);
});
