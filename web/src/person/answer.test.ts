import { expect, test } from "vitest";
import { answerFormOf, checkAnswer, formatOf } from "./answer";

test.each([
  ['Return exactly this: <EVAL_ANSWER>{"n": <number>}</EVAL_ANSWER>\n', '{"n": <number>}', "json"],
  ['Answer {"total": n}.', "", "json"],
  ["Answer as JSON.", "", "json"],
  ["What is the capital of France?", "", "text"],
] as const)("the form and format that the task %j asks for", (task, form, format) => {
  expect(answerFormOf(task)).toBe(form);
  expect(formatOf(task)).toBe(format);
});

test.each([
  [' {"total": 45} ', '{"total": 45}'],
  ['<EVAL_ANSWER>{"total": 45}</EVAL_ANSWER> [EVAL_COMPLETE]', '{"total": 45}'],
  ["12345678901234567890.5", "12345678901234567890.5"], // as typed: numbers are not rounded
  ['"a, ]"', '"a, ]"'],
  ["0", "0"],
])("JSON %j is submitted as %j", (typed, json) => {
  expect(checkAnswer(typed, "json")).toEqual({ json });
});

test.each([
  ["", "Type the answer."],
  ["[EVAL_COMPLETE]", "Type the answer."],
  ["null", "null counts as no answer."],
  ["{'a': 1}", "double quotes"],
  ['{"a": True}', "JSON writes true, false and null."],
  ['{"a": 1,}', "comma after the last item"],
  ["{a: 1}", "Names are in double quotes too."],
  ['```json\n{"a": 1}\n```', "Leave out the code fence."],
  ['{"a": <number>}', "Replace the words between < and >"],
  ['{"a": "True, }"', "This is not valid JSON. "], // the mistake is not in the text
  ["45 46", "This is not valid JSON. "],
])("the answer %j is explained", (typed, problem) => {
  const checked = checkAnswer(typed, "json");
  expect("problem" in checked && checked.problem).toContain(problem);
});

test("a text becomes a JSON string", () => {
  expect(checkAnswer(' say "hi"\nnow ', "text")).toEqual({ json: '"say \\"hi\\"\\nnow"' });
  expect(checkAnswer("null", "text")).toEqual({ json: '"null"' });
  expect(checkAnswer("  ", "text")).toEqual({ problem: "Type the answer." });
});

test("an answer that is too large is explained; white space does not count", () => {
  const mebibyte = "x".repeat(2 ** 20);
  const text = mebibyte.slice(2);
  expect(checkAnswer(`${" ".repeat(9)}[${" ".repeat(2 ** 20)}1 ]`, "json")).toHaveProperty("json");
  expect(checkAnswer(text, "text")).toHaveProperty("json");
  expect(checkAnswer(`${text}y`, "text")).toEqual({
    problem: "The answer has 1048577 bytes, more than the 1048576 that can be submitted.",
  });
  expect(checkAnswer("<".repeat(2 ** 18), "text")).toHaveProperty("problem"); // escaped, each is six bytes
  expect(checkAnswer("é".repeat(2 ** 19), "text")).toHaveProperty("problem");
});
