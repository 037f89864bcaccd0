import { describe, expect, it } from "vitest";
import { findOption, optionsOf, searchOptions } from "./options";
import { jsonText, valueText } from "./valueText";

describe("valueText and jsonText", () => {
  it("return a text for any value", () => {
    const values = ["", null, undefined, 1, true, [1, "a"], { a: null }, { $float: "-inf" }, { $float: "nan" }];
    expect(values.map((value) => valueText(value))).toEqual([
      "(empty text)",
      "none",
      "none",
      "1",
      "true",
      '[1,"a"]',
      '{"a":null}',
      "-∞",
      "NaN",
    ]);
  });

  it("return a note for a value that is nested too deeply", () => {
    let deep: unknown = 1;
    for (let n = 0; n < 100_000; n++) deep = [deep];
    expect(jsonText(deep)).toMatch(/nested too deeply/);
  });
});

describe("options", () => {
  const options = optionsOf({ type: "select", options: [1, "1", "b", null, { a: 1 }, { a: 1 }, "<b>x</b>"] });

  it("are shown as JSON if their labels are equal", () => {
    expect(options.map(({ text }) => text)).toEqual(["1", '"1"', "b", "none", '{"a":1}', '{"a":1}', "<b>x</b>"]);
  });

  it("are found by any JSON value", () => {
    expect(findOption(options, "1")?.index).toBe(1);
    expect(findOption(options, { a: 1 })?.index).toBe(4);
    expect(findOption(options, true)).toBeUndefined();
  });

  it("are searched by words in any order", () => {
    const genes = optionsOf({ type: "select", options: ["alpha one", "alpha two", "beta one"] });
    expect(searchOptions(genes, " ONE al ").map(({ text }) => text)).toEqual(["alpha one"]);
  });

  it("are empty if the state has no list of options", () => {
    expect(optionsOf({ type: "select", options: { length: 3 } })).toEqual([]);
  });
});
