import { expect, test } from "vitest";
import { type Attempt, attemptsOf } from "./attempt";
import { type AttemptTableView, filterAndSortAttempts, parseTableView, tableViewParameters } from "./filter";

const sampleAttempts = attemptsOf([
  {
    type: "attempt",
    name: "1",
    case_id: "case10",
    outcome: "completed",
    passed: true,
    score: 1,
    duration_ms: 20,
    tags: ["x"],
  },
  { type: "attempt", name: "2", case_id: "Case2", outcome: "limit", passed: false, score: 0.5, duration_ms: 100 },
  { type: "attempt", name: "3", case_id: "other", outcome: "agent_error", passed: null, score: null, tags: ["x", "y"] },
  { type: "skipped", case_id: "case1", reason: "it wants R" },
]);

function filteredNames(search: string): string[] {
  return filterAndSortAttempts(sampleAttempts, parseTableView(search)).map(
    (attempt: Attempt) => attempt.name || attempt.caseId,
  );
}

test("an attempt must match all filters", () => {
  expect(filteredNames("text=CASE")).toEqual(["1", "2", "case1"]);
  expect(filteredNames("verdict=infrastructure")).toEqual(["3"]);
  expect(filteredNames("outcome=limit")).toEqual(["2"]);
  expect(filteredNames("tag=x")).toEqual(["1", "3"]);
  expect(filteredNames("tag=x&text=case")).toEqual(["1"]);
});

test("numbers sort numerically, and unknown values come last in both directions", () => {
  expect(filteredNames("sort=case")).toEqual(["case1", "2", "1", "3"]);
  expect(filteredNames("sort=-case")).toEqual(["3", "1", "2", "case1"]);
  expect(filteredNames("sort=score")).toEqual(["2", "1", "3", "case1"]);
  expect(filteredNames("sort=-duration")).toEqual(["2", "1", "3", "case1"]);
});

test("a table view survives the round trip through the address", () => {
  const shown: AttemptTableView = {
    filter: { verdict: "failed", outcome: "limit", tag: "a&b=c", text: "50% ö" },
    order: { by: "cost", descending: true },
  };
  expect(parseTableView(tableViewParameters(shown))).toEqual(shown);
  expect(tableViewParameters(parseTableView(""))).toBe("");
});

test("an invalid address shows all attempts", () => {
  expect(filteredNames("verdict=constructor&sort=__proto__")).toHaveLength(4);
});
