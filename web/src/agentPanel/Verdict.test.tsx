import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { EvalResult } from "../protocol/messages";
import { Verdict } from "./Verdict";

afterEach(cleanup);

const evalResult: EvalResult = {
  case_id: "sum",
  outcome: "completed",
  outcome_detail: "",
  passed: false,
  score: 0.5,
  graders: [
    { type: "numeric", passed: true, score: 1, reasoning: "found 42", metrics: { delta: 0 }, error: null },
    { type: "exact", passed: false, score: 0, reasoning: "found <b>43</b>", metrics: {}, error: null },
    { type: "judge", passed: false, score: null, reasoning: "", metrics: {}, error: "timeout: no answer" },
  ],
  answer: { n: 42 },
  duration_ms: 8123,
};

test("shows outcome, score and each grader's result", () => {
  render(<Verdict result={evalResult} />);
  expect(screen.getByText("Failed")).toBeTruthy();
  expect(screen.getByText("score 0.5")).toBeTruthy();
  expect(screen.getByText("The agent submitted an answer.")).toBeTruthy();
  const [numeric, exact, judge] = screen.getAllByRole("listitem");
  expect(within(numeric as HTMLElement).getByRole("img", { name: "passed" })).toBeTruthy();
  expect(within(exact as HTMLElement).getByRole("img", { name: "failed" })).toBeTruthy();
  expect(within(exact as HTMLElement).getByText("found <b>43</b>")).toBeTruthy();
  expect(within(judge as HTMLElement).getByRole("img", { name: "grader error" })).toBeTruthy();
  expect(within(judge as HTMLElement).getByText("Grader error: timeout: no answer")).toBeTruthy();
});

test.each([
  [true, "Passed"],
  [false, "Failed"],
  [null, "Not graded"],
])("passed %s is %s", (passed, word) => {
  render(<Verdict result={{ ...evalResult, passed, graders: [] }} />);
  expect(screen.getByText(word)).toBeTruthy();
});

test("an unknown outcome is shown by its name", () => {
  render(<Verdict result={{ ...evalResult, outcome: "constructor", outcome_detail: "why" }} />);
  expect(screen.getByText(/ended with outcome constructor/).textContent).toContain("why");
});

test.each([null, undefined])("an answer of %s is none, and what that means is said", (answer) => {
  render(<Verdict result={{ ...evalResult, answer }} />);
  expect(screen.getByText("None: nothing was submitted, or what was submitted is no JSON.")).toBeTruthy();
});

test.each([7, null, "text", [], {}, [null, 7, [], "x"]])("renders a verdict made of %j", (value) => {
  const hostile = Object.fromEntries(Object.keys(evalResult).map((name) => [name, value]));
  render(<Verdict result={hostile as never} />);
  render(<Verdict result={{ ...evalResult, graders: [hostile] as never }} />);
  expect(screen.getAllByRole("region", { name: "Verdict" }).length).toBe(2);
});
