import { expect, test } from "vitest";
import { read } from "../json/schema";
import { flowPageSchema } from "../protocol/api.gen";
import { flowPageOf } from "./entry";

const flowPageOfAnswer = (answer: unknown) => flowPageOf(read(flowPageSchema, answer));

import { linePartsOf, maxLineTracks, requestSpansOf } from "./requestSpans";
import { statisticsByAction } from "./statistics";

function flowRequestsOf(made: Record<number, Record<string, unknown>>) {
  return [...flowPageOfAnswer({ requests: made }).requests.values()];
}

const answeredRequestFields = (seqs: readonly number[]) => ({ state: "answered", seqs });

function entryWithRequests(seq: number, of: readonly number[] = []) {
  const [made] = flowPageOfAnswer({ entries: [{ seq, requests: of }] }).entries;
  if (made === undefined) throw new Error("no entry");
  return made;
}

test("concurrent requests get parallel lines, consecutive ones the same line position", () => {
  const spans = requestSpansOf(
    flowRequestsOf({
      9: answeredRequestFields([9, 0, 0, 12, 0]),
      1: answeredRequestFields([1, 2, 5, 8, 0]),
      3: answeredRequestFields([3, 0, 0, 4, 0]),
    }),
    true,
  );
  expect(spans.map(({ first, last, track }) => [first, last, track])).toEqual([
    [1, 8, 0],
    [3, 4, 1],
    [9, 12, 0],
  ]);
});

test("the line of an unanswered request continues to the end of the trace", () => {
  const open = flowRequestsOf({ 5: { state: "unanswered", seqs: [5, 6, 0, 0, 0] } });
  expect(requestSpansOf(open, false)[0]).toMatchObject({ last: Number.POSITIVE_INFINITY, tone: "warn" });
  expect(requestSpansOf(open, true)[0]).toMatchObject({ last: 6 });
});

test("a late reply extends the line, and a single-entry request has none", () => {
  const spans = requestSpansOf(
    flowRequestsOf({ 1: { state: "timed_out", seqs: [1, 2, 0, 3, 40] }, 4: answeredRequestFields([4, 0, 0, 4, 0]) }),
    true,
  );
  expect(spans).toEqual([{ first: 1, last: 40, track: 0, tone: "bad" }]);
});

test("there are at most maxTracks parallel lines", () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [i + 1, answeredRequestFields([i + 1, 0, 0, 100, 0])]),
  );
  expect(requestSpansOf(flowRequestsOf(many), true)).toHaveLength(maxLineTracks);
});

test("a row has the part of the line that belongs to it", () => {
  const spans = requestSpansOf(flowRequestsOf({ 1: answeredRequestFields([1, 2, 0, 4, 0]) }), true);
  const parts = [
    entryWithRequests(1, [1]),
    entryWithRequests(2, [1]),
    entryWithRequests(3),
    entryWithRequests(4, [1]),
    entryWithRequests(5),
  ].map((one) => linePartsOf(spans, one, [1]).map(({ part, isHighlighted }) => `${part} ${isHighlighted}`));
  expect(parts).toEqual([["start true"], ["middle true"], ["pass true"], ["end true"], []]);
});

test("statistics are grouped by kind and action, with nearest-rank percentiles", () => {
  const times = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [
      i + 1,
      { kind: "action", action: "a", state: "answered", total_ms: 100 - i },
    ]),
  );
  const table = statisticsByAction(
    flowRequestsOf({
      ...times,
      200: { kind: "run", action: "a", state: "unanswered", total_ms: null },
      201: { kind: "action", action: "a", state: "timed_out", total_ms: 8000 },
    }),
  );
  expect(table).toEqual([
    { kind: "action", action: "a", count: 101, p50: 51, p99: 100, max: 8000, timedOut: 1, failed: 0, unanswered: 0 },
    { kind: "run", action: "a", count: 1, p50: null, p99: null, max: null, timedOut: 0, failed: 0, unanswered: 1 },
  ]);
});
