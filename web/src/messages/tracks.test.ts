import { expect, test } from "vitest";
import { read } from "../json/schema";
import { flowPageSchema } from "../protocol/api.gen";
import { pageOf } from "./entry";

const readFlowPage = (answer: unknown) => pageOf(read(flowPageSchema, answer));

import { linePartsOf, maxTracks, spansOf } from "./requestSpans";
import { statisticsOf } from "./statistics";

function requestsBySeq(made: Record<number, Record<string, unknown>>) {
  return [...readFlowPage({ requests: made }).requests.values()];
}

const answeredRequest = (seqs: readonly number[]) => ({ state: "answered", seqs });

function entryOfRequests(seq: number, of: readonly number[] = []) {
  const [made] = readFlowPage({ entries: [{ seq, requests: of }] }).entries;
  if (made === undefined) throw new Error("no entry");
  return made;
}

test("concurrent requests get parallel lines, consecutive ones the same line position", () => {
  const spans = spansOf(
    requestsBySeq({
      9: answeredRequest([9, 0, 0, 12, 0]),
      1: answeredRequest([1, 2, 5, 8, 0]),
      3: answeredRequest([3, 0, 0, 4, 0]),
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
  const open = requestsBySeq({ 5: { state: "unanswered", seqs: [5, 6, 0, 0, 0] } });
  expect(spansOf(open, false)[0]).toMatchObject({ last: Number.POSITIVE_INFINITY, tone: "warn" });
  expect(spansOf(open, true)[0]).toMatchObject({ last: 6 });
});

test("a late reply extends the line, and a single-entry request has none", () => {
  const spans = spansOf(
    requestsBySeq({ 1: { state: "timed_out", seqs: [1, 2, 0, 3, 40] }, 4: answeredRequest([4, 0, 0, 4, 0]) }),
    true,
  );
  expect(spans).toEqual([{ first: 1, last: 40, track: 0, tone: "bad" }]);
});

test("there are at most maxTracks parallel lines", () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [i + 1, answeredRequest([i + 1, 0, 0, 100, 0])]),
  );
  expect(spansOf(requestsBySeq(many), true)).toHaveLength(maxTracks);
});

test("a row has the part of the line that belongs to it", () => {
  const spans = spansOf(requestsBySeq({ 1: answeredRequest([1, 2, 0, 4, 0]) }), true);
  const parts = [
    entryOfRequests(1, [1]),
    entryOfRequests(2, [1]),
    entryOfRequests(3),
    entryOfRequests(4, [1]),
    entryOfRequests(5),
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
  const table = statisticsOf(
    requestsBySeq({
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
