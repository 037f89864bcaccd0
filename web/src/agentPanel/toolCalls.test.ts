import { describe, expect, test } from "vitest";
import {
  cellIdsOfToolCall,
  cellRunFailed,
  codeOfPartialInput,
  parseJSONContainer,
  toolInputSummary,
} from "./toolCalls";
import { toolName } from "./toolName";

describe("toolName", () => {
  test.each([
    ["create_cell", "create_cell"],
    ["mcp__assay__run_cell", "run_cell"],
    ["mcp__a__b__c", "b__c"],
    ["", "tool"],
    [null, "tool"],
    [{ a: 1 }, '{"a":1}'],
    ["a\u202eb\nc", "a<U+202E>b c"],
  ])("%j is %s", (name, expected) => expect(toolName(name)).toBe(expected));
});

describe("inputSummary", () => {
  test.each([
    [{ source: "# read it\nimport os\n\nx = 1\ny = 2" }, "x = 1"],
    [{ source: "# only a comment" }, "# only a comment"],
    [{ code: "1/0", timeout_s: 3 }, "1/0"],
    [{ cell_id: "abc" }, ""],
    [{ cell_id: "abc", position: 3 }, "3"],
    [{ next_status: "done", summary: "All\nfine" }, "All fine"],
    [{ key: "k", value: "7" }, "key: k, value: 7"],
    ["text", ""],
    [null, ""],
    [{ source: 7 }, "7"],
  ])("of %j is %j", (input, expected) => expect(toolInputSummary(input)).toBe(expected));

  test("is short even for very long code", () => {
    expect(toolInputSummary({ source: "x".repeat(1_000_000) }).length).toBeLessThan(400);
  });
});

describe("cellIds", () => {
  test.each([
    [{ cell_id: "a" }, "", ["a"]],
    [{ cell_id: "a" }, "cell_id: a\nstatus: ok", ["a"]],
    [{}, '{"status":"ok","cell_id":"b"}', ["b"]],
    [{ cell_id: 7 }, "", []],
    [null, `${" ".repeat(3000)}cell_id: far`, []],
  ])("of %j and %j", (input, result, expected) => expect(cellIdsOfToolCall(input, result)).toEqual(expected));
});

test("cellRunFailed reads the status line of a result", () => {
  expect(cellRunFailed("cell_id: a\nstatus: error\n")).toBe(true);
  expect(cellRunFailed("cell_id: a\nstatus: ok\n\nstatus: errors everywhere")).toBe(false);
});

test("parseJSONContainer accepts only objects and lists", () => {
  expect(parseJSONContainer(' {"a":1}')).toEqual({ a: 1 });
  expect(parseJSONContainer("12")).toBeUndefined();
  expect(parseJSONContainer("{no")).toBeUndefined();
});

describe("partialCode", () => {
  test.each([
    ['{"position": 0, "source": "a = 1\\nb', "a = 1\nb"],
    ['{"code": "say \\"hi', 'say "hi'],
    ['{"code": "cut \\', "cut "],
    ['{"code": "cut \\u00e', "cut "],
    ['{"code": "whole", "timeout_s": 3}', "whole"],
    ['{"cell_id": "a', '{"cell_id": "a'],
    ["", ""],
  ])("of %j", (json, expected) => expect(codeOfPartialInput(json)).toBe(expected));
});
