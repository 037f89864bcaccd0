import { expect, test } from "vitest";
import { read } from "../json/schema";
import { flowPageSchema } from "../protocol/api.gen";
import { pageOf } from "./entry";

const readPage = (answer: unknown) => pageOf(read(flowPageSchema, answer));

import { linePartsOf, maxTracks, spansOf } from "./requestSpans";
import { statisticsOf } from "./statistics";

function requests(made: Record<number, Record<string, unknown>>) {
  return [...readPage({ requests: made }).requests.values()];
}

const answered = (seqs: readonly number[]) => ({ state: "answered", seqs });

function entry(seq: number, of: readonly number[] = []) {
  const [made] = readPage({ entries: [{ seq, requests: of }] }).entries;
  if (made === undefined) throw new Error("no entry");
  return made;
}

test("requests at the same time stand side by side, and those behind each other in line", () => {
  const spans = spansOf(
    requests({ 9: answered([9, 0, 0, 12, 0]), 1: answered([1, 2, 5, 8, 0]), 3: answered([3, 0, 0, 4, 0]) }),
    true,
  );
  expect(spans.map(({ first, last, track }) => [first, last, track])).toEqual([
    [1, 8, 0],
    [3, 4, 1],
    [9, 12, 0],
  ]);
});

test("a request that nobody has answered goes on while the trace does", () => {
  const open = requests({ 5: { state: "unanswered", seqs: [5, 6, 0, 0, 0] } });
  expect(spansOf(open, false)[0]).toMatchObject({ last: Number.POSITIVE_INFINITY, tone: "warn" });
  expect(spansOf(open, true)[0]).toMatchObject({ last: 6 });
});

test("a late reply belongs to its request, and one of a single entry needs no line", () => {
  const spans = spansOf(
    requests({ 1: { state: "timed_out", seqs: [1, 2, 0, 3, 40] }, 4: answered([4, 0, 0, 4, 0]) }),
    true,
  );
  expect(spans).toEqual([{ first: 1, last: 40, track: 0, tone: "bad" }]);
});

test("there are never more lines than there is room for", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [i + 1, answered([i + 1, 0, 0, 100, 0])]));
  expect(spansOf(requests(many), true)).toHaveLength(maxTracks);
});

test("a row knows where on a request it is", () => {
  const spans = spansOf(requests({ 1: answered([1, 2, 0, 4, 0]) }), true);
  const parts = [entry(1, [1]), entry(2, [1]), entry(3), entry(4, [1]), entry(5)].map((one) =>
    linePartsOf(spans, one, [1]).map(({ part, isHighlighted }) => `${part} ${isHighlighted}`),
  );
  expect(parts).toEqual([["start true"], ["middle true"], ["pass true"], ["end true"], []]);
});

test("statistics are by kind and action, by nearest rank", () => {
  const times = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [
      i + 1,
      { kind: "action", action: "a", state: "answered", total_ms: 100 - i },
    ]),
  );
  const table = statisticsOf(
    requests({
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
