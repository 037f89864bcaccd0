import { expect, test } from "vitest";
import { read } from "../../json/schema";
import { type AttemptLine, attemptLineSchema } from "../../protocol/api.gen";
import { type Attempt, attemptOf } from "./attempt";
import { costOf, countsOf, passRatesOf, summaryRates, tagRatesOf } from "./tally";

function attempt(caseId: string, outcome: string, passed: boolean | null, more: object = {}): Attempt {
  const made = attemptOf({ type: "attempt", case_id: caseId, outcome, passed, ...more });
  if (made === null) throw new Error("no attempt");
  return made;
}

const attempts = [
  attempt("a", "completed", true),
  attempt("a", "completed", false),
  attempt("b", "completed", true),
  attempt("b", "agent_error", null),
  attempt("c", "kernel_exit", null),
  attempt("d", "kernel_exit", false),
  attempt("e", "completed", null),
];

test("each attempt is counted once, by its verdict", () => {
  expect(countsOf(attempts)).toEqual({
    passed: 2,
    failed: 2,
    ungraded: 1,
    infrastructure: 2,
    skipped: 0,
    running: 0,
    interrupted: 0,
  });
});

test("the mean over a case's attempts is one observation", () => {
  const rates = passRatesOf(attempts);
  // strict: a 1/2, b 1/2, c 0, d 0; without infrastructure: a 1/2, b 1, d 0
  expect(rates.strict?.mean).toBeCloseTo(0.25, 12);
  expect(rates.strict?.n).toBe(4);
  expect(rates.excludingInfrastructure?.mean).toBeCloseTo(0.5, 12);
  expect(rates.excludingInfrastructure?.n).toBe(3);
});

test("a run's own summary goes before what is computed", () => {
  const told = summaryRates(
    [
      { type: "summary", ...{ pass_rate: { strict: 0.3, excluding_infrastructure: null, ci95: [0.1, 0.5] } } },
    ] as unknown as AttemptLine[],
    passRatesOf(attempts),
  );
  expect(told.strict).toEqual({ mean: 0.3, interval: [0.1, 0.5], n: 4 });
  expect(told.excludingInfrastructure?.mean).toBeCloseTo(0.5, 12);
});

test("a rate that cannot be is told by no summary", () => {
  const computed = passRatesOf(attempts);
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

test("an interval without width is told by no summary", () => {
  const told = summaryRates(
    [{ type: "summary", ...{ pass_rate: { strict: 1, ci95: [1, 1] } } }] as unknown as AttemptLine[],
    passRatesOf([attempt("a", "completed", true)]),
  );
  expect(told.strict?.interval).toBeNull();
});

test.each([null, 3, { pass_rate: 7 }, { pass_rate: { strict: "1", ci95: 4 } }])(
  "of a strange summary nothing is taken: %j",
  (summary) => {
    const computed = passRatesOf(attempts);
    expect(summaryRates([read(attemptLineSchema, { type: "summary", ...Object(summary) })], computed)).toEqual(
      computed,
    );
  },
);

test("an attempt counts for each of its tags once", () => {
  const rates = tagRatesOf([
    attempt("a", "completed", true, { tags: ["x", "y", "x"] }),
    attempt("b", "completed", false, { tags: ["x"] }),
  ]);
  expect(rates.map(({ tag, rate, counts }) => [tag, rate?.mean, counts.passed + counts.failed])).toEqual([
    ["x", 0.5, 2],
    ["y", 1, 1],
  ]);
});

test("a cost is known only where every price is", () => {
  const priced = (usd: number | null) => attempt("a", "completed", true, { usage: { cost_usd: usd } });
  expect(costOf([priced(0.5), priced(0.25)])).toBe(0.75);
  expect(costOf([priced(0.5), priced(null)])).toBeNull();
  expect(costOf([])).toBeNull();
});
