import { expect, test } from "vitest";
import { oneLine, plainName, showInvisible } from "./displayText";

test("keeps lines and scripts, and spells out deceptive characters", () => {
  expect(showInvisible("a\u202eb\u0000c\u200bd\u2066e\ud800")).toBe("a<U+202E>b<U+0000>c<U+200B>d<U+2066>e<U+D800>");
  expect(showInvisible("two\nlines\t.")).toBe("two\nlines\t.");
  expect(showInvisible("two\r\nlines, and\rback")).toBe("two\nlines, and<U+000D>back");
  expect(showInvisible("\u{1f469}\u200d\u{1f52c} <b>")).toBe("\u{1f469}\u200d\u{1f52c} <b>");
});

test("shows words that are hidden in tag characters", () => {
  const hidden = [..."ok"].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");
  expect(showInvisible(hidden)).toBe("<U+E006F><U+E006B>");
});

test("makes one short line of a text", () => {
  expect(oneLine(" a\n b ")).toBe("a b");
  expect(oneLine("x".repeat(1000), 10)).toBe("xxxxxxxxxx…");
  expect(oneLine("x".repeat(10), 10)).toBe("xxxxxxxxxx");
  expect(oneLine(`${" ".repeat(1000)}x`, 10)).toBe("…");
  expect(oneLine("a\u202eb")).toBe("a<U+202E>b");
});

test("does not cut a surrogate pair", () => {
  expect(oneLine("\u{1f600}".repeat(9), 3)).toBe("\u{1f600}…");
  expect(plainName("\u{1f600}\u{1f600}", 3)).toBe("\u{1f600}…");
});

test("makes different names look different", () => {
  expect(plainName("a\u202eb\u0000\n\u200d")).toBe("a<U+202E>b<U+0000><U+000A><U+200D>");
  expect(plainName("x".repeat(9999))).toHaveLength(301);
  expect(plainName("")).toBe("");
});

test("formats values that are not strings", () => {
  let deep: unknown = 1;
  for (let n = 0; n < 100_000; n++) deep = [deep];
  const values = [null, undefined, 5, { a: ["b"] }, deep];
  expect(values.map((value) => plainName(value))).toEqual(["null", "undefined", "5", '{"a":["b"]}', "object"]);
});
