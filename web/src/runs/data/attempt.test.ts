import { expect, test } from "vitest";
import { read } from "../../json/schema";
import { attemptLineSchema, attemptPageSchema } from "../../protocol/api.gen";
import { attemptOf, attemptsOf, unfinishedAttempt } from "./attempt";

test("an unfinished attempt has case, epoch and try from its folder's name", () => {
  expect(unfinishedAttempt("0002-customer-join-e3-t1", "running")).toMatchObject({
    caseId: "customer-join",
    epoch: 3,
    try: 1,
    verdict: "running",
  });
  expect(unfinishedAttempt("a-e1-b", "interrupted")).toMatchObject({
    caseId: "a-e1-b",
    epoch: null,
    try: null,
    verdict: "interrupted",
  });
});

test("an attempt of an interrupted run is interrupted", () => {
  const told = { type: "attempt", state: "interrupted", name: "0002-c-e1-t1" };
  expect(attemptOf(told)).toMatchObject({ verdict: "interrupted", outcome: "interrupted", n: 0 });
});

test("a skipped case has its reason", () => {
  expect(attemptOf({ type: "skipped", case_id: "r", reason: "no R" })).toMatchObject({
    verdict: "skipped",
    detail: "no R",
    name: "",
  });
});

const malformedLines: unknown[] = [
  { type: "attempt" },
  {
    type: "attempt",
    n: "1",
    name: 7,
    case_id: null,
    epoch: "1",
    outcome: ["completed"],
    passed: "yes",
    score: { $float: "NaN" },
  },
  { type: "attempt", usage: [], phases: null, tags: "x", tamper: "many", started: 12, duration_ms: Number.NaN },
  { type: "attempt", usage: { input_tokens: "9", cost_usd: {} }, tags: [1, null, "ok"] },
];

test.each(malformedLines)("a malformed line is read: %j", (line) => {
  const attempt = attemptOf(read(attemptLineSchema, line));
  expect(attempt).not.toBeNull();
  expect(typeof attempt?.name).toBe("string");
  expect(typeof attempt?.caseId).toBe("string");
  for (const value of [attempt?.score, attempt?.epoch, attempt?.tokens, attempt?.costUsd, attempt?.durationMs]) {
    expect(value === null || Number.isFinite(value)).toBe(true);
  }
  expect(attempt?.tags.every((tag) => typeof tag === "string")).toBe(true);
});

test("attemptOf returns null for other lines", () => {
  const attempts = [null, 1, "x", [], {}, { type: "summary" }, { type: ["attempt"] }];
  expect(attemptsOf(read(attemptPageSchema, { attempts }).attempts)).toEqual([]);
});
