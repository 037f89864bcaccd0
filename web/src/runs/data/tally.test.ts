import { expect, test } from "vitest";
import { read } from "../../json/schema";
import { type AttemptLine, attemptLineSchema } from "../../protocol/api.gen";
import { type Attempt, attemptOf } from "./attempt";
import { attemptCountsOf, passRatesOf, summaryRates, tagRatesOf, totalCostOf } from "./tally";

function endedAttempt(caseId: string, outcome: string, passed: boolean | null, more: object = {}): Attempt {
  const made = attemptOf({ type: "attempt", case_id: caseId, outcome, passed, ...more });
  if (made === null) throw new Error("no attempt");
  return made;
}

const sampleAttempts = [
  endedAttempt("a", "completed", true),
  endedAttempt("a", "completed", false),
  endedAttempt("b", "completed", true),
  endedAttempt("b", "agent_error", null),
  endedAttempt("c", "kernel_exit", null),
  endedAttempt("d", "kernel_exit", false),
  endedAttempt("e", "completed", null),
  endedAttempt("b", "completed", null, { grading: { error_kind: "model", text: "no key" } }),
];

test("countsOf counts each attempt once, by its verdict", () => {
  expect(attemptCountsOf(sampleAttempts)).toEqual({
    passed: 2,
    failed: 2,
    ungraded: 1,
    grading_error: 1,
    infrastructure: 2,
    skipped: 0,
    running: 0,
    interrupted: 0,
  });
});

test("the mean over a case's attempts is one observation of the pass rate", () => {
  const rates = passRatesOf(sampleAttempts);
  // strict: a 1/2, b 1/3, c 0, d 0; without infrastructure and grading errors: a 1/2, b 1, d 0
  expect(rates.strict?.mean).toBeCloseTo(5 / 24, 12);
  expect(rates.strict?.n).toBe(4);
  expect(rates.excludingInfrastructure?.mean).toBeCloseTo(0.5, 12);
  expect(rates.excludingInfrastructure?.n).toBe(3);
});

test("the run's summary line takes precedence over computed rates", () => {
  const told = summaryRates(
    [
      { type: "summary", ...{ pass_rate: { strict: 0.3, excluding_infrastructure: null, ci95: [0.1, 0.5] } } },
    ] as unknown as AttemptLine[],
    passRatesOf(sampleAttempts),
  );
  expect(told.strict).toEqual({ mean: 0.3, interval: [0.1, 0.5], n: 4 });
  expect(told.excludingInfrastructure?.mean).toBeCloseTo(0.5, 12);
});

test("an impossible rate in the summary is replaced by the computed one", () => {
  const computed = passRatesOf(sampleAttempts);
  expect(
    summaryRates(
      [
        { type: "summary", ...{ pass_rate: { strict: 1e308, excluding_infrastructure: -0.1 } } },
      ] as unknown as AttemptLine[],
      computed,
    ),
  ).toEqual(computed);
  const told = summaryRates(
    [{ type: "summary", ...{ pass_rate: { strict: 0.5, ci95: [-1e308, 1e308] } } }] as unknown as AttemptLine[],
    computed,
  );
  expect(told.strict?.interval).toBeNull();
});

test("an interval of width zero in the summary is ignored", () => {
  const told = summaryRates(
    [{ type: "summary", ...{ pass_rate: { strict: 1, ci95: [1, 1] } } }] as unknown as AttemptLine[],
    passRatesOf([endedAttempt("a", "completed", true)]),
  );
  expect(told.strict?.interval).toBeNull();
});

test.each([null, 3, { pass_rate: 7 }, { pass_rate: { strict: "1", ci95: 4 } }])(
  "of a strange summary nothing is taken: %j",
  (summary) => {
    const computed = passRatesOf(sampleAttempts);
    expect(summaryRates([read(attemptLineSchema, { type: "summary", ...Object(summary) })], computed)).toEqual(
      computed,
    );
  },
);

test("an attempt counts for each of its tags once", () => {
  const rates = tagRatesOf([
    endedAttempt("a", "completed", true, { tags: ["x", "y", "x"] }),
    endedAttempt("b", "completed", false, { tags: ["x"] }),
  ]);
  expect(rates.map(({ tag, rate, counts }) => [tag, rate?.mean, counts.passed + counts.failed])).toEqual([
    ["x", 0.5, 2],
    ["y", 1, 1],
  ]);
});

test("the total cost is known only if every price is", () => {
  const priced = (usd: number | null) => endedAttempt("a", "completed", true, { usage: { cost_usd: usd } });
  expect(totalCostOf([priced(0.5), priced(0.25)])).toBe(0.75);
  expect(totalCostOf([priced(0.5), priced(null)])).toBeNull();
  expect(totalCostOf([])).toBeNull();
});

test("there is no pass rate if nothing was graded, whatever the summary says", () => {
  const lost = [endedAttempt("a", "setup_error", null), endedAttempt("b", "agent_error", null)];
  const none = { strict: null, excludingInfrastructure: null };
  expect(passRatesOf(lost)).toEqual(none);
  const summary = { type: "summary", pass_rate: { strict: 0, excluding_infrastructure: null, ci95: null } };
  expect(summaryRates([summary] as unknown as AttemptLine[], passRatesOf(lost))).toEqual(none);
});
