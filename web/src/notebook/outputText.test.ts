import { expect, test } from "vitest";
import type { Output } from "../protocol/messages";
import { fakeCell, fakeExecution, stateOfCells } from "./fakeNotebook";
import { outputText } from "./outputText";

function textOfOutputs(...outputs: unknown[]): string {
  return outputText(
    stateOfCells([fakeCell("a")], { executions: { a: fakeExecution({ outputs: outputs as Output[] }) } }),
    "a",
  );
}

test("contains printed text, values and errors without ANSI colours", () => {
  const text = textOfOutputs(
    { output_type: "stream", name: "stdout", text: ["one\n", "two"] },
    { output_type: "execute_result", data: { "text/html": "<b>42</b>", "text/plain": "42" }, metadata: {} },
    { output_type: "error", ename: "E", evalue: "no", traceback: ["\u001b[31mE\u001b[0m: no", "  line 1"] },
    { output_type: "display_data", data: { "image/png": "iVBO" }, metadata: {} },
  );
  expect(text).toBe("one\ntwo\n42\nE: no\n  line 1\n");
});

test("ignores malformed outputs", () => {
  expect(textOfOutputs(null, 7, "x", { text: 1 }, { data: null }, { traceback: [1, null] })).toBe("\n\n\n\n\n");
  expect(outputText(stateOfCells([fakeCell("a")]), "a")).toBe("");
});
