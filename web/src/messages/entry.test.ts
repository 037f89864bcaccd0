import { expect, test } from "vitest";
import { read } from "../json/schema";
import { flowPageSchema } from "../protocol/api.gen";
import { pageOf } from "./entry";

const readFlowPage = (answer: unknown) => pageOf(read(flowPageSchema, answer));

import { aboutText, idText, nameText, pauseBefore, waitText } from "./entryTexts";
import { arrowOf } from "./lanes";
import { faultOf, isOdd, oddityOfNote } from "./oddity";

const malformedValues = [null, 7, "text", [], [[]], { seq: "1" }, { seq: -1 }, { seq: 1.5 }, { seq: Number.NaN }, {}];

test("a malformed response has no rows", () => {
  for (const answer of malformedValues)
    expect(readFlowPage(answer)).toMatchObject({ entries: [], count: null, end: 0, complete: false });
});

test("malformed entries are left out, and missing fields get defaults", () => {
  const odd = {
    seq: 4,
    hop: 1,
    type: null,
    action: ["a"],
    tx_id: {},
    bytes: "9",
    note: 5,
    ref: "x",
    requests: [1, "2", null, -3, 0, 1],
  };
  const page = readFlowPage({
    entries: [...malformedValues, odd],
    requests: { "1": { seqs: 7, hops: [null] }, "2": null, x: { seqs: "no", hops: [null, { hop: 1, ms: "2" }] } },
  });
  expect(page.entries).toEqual([
    {
      seq: 4,
      ms: 0,
      hop: "",
      conn: null,
      type: "",
      action: "",
      txId: "",
      cellId: "",
      bytes: 0,
      note: "",
      ref: null,
      cause: null,
      label: "",
      requests: [1],
    },
  ]);
  expect(page.requests.get(1)).toMatchObject({ state: "", totalMs: null, hops: [], seqs: [] });
});

test("an unknown hop is a note on the server's lane", () => {
  expect(arrowOf("agent>server")).toEqual({ from: "agent", to: "server" });
  for (const hop of ["", "notebook", "agent>moon", "agent>agent", "a>b>c", "agent>server>kernel", "__proto__>server"]) {
    expect(arrowOf(hop)).toBeNull();
  }
});

test("an unknown note is its own label", () => {
  expect(oddityOfNote("")).toBeNull();
  expect(oddityOfNote("timed_out")?.label).toBe("timed out");
  expect(oddityOfNote("constructor")).toEqual({ icon: "other", label: "constructor", tone: "plain" });
});

test("direction-changing characters are made visible, and long texts are cut", () => {
  const [entry] = readFlowPage({
    entries: [{ seq: 1, hop: "\u202e", type: "a\u0000", label: "x".repeat(1e6) }],
  }).entries;
  if (entry === undefined) throw new Error("no entry");
  expect(aboutText(entry).length).toBeLessThan(70);
  expect(nameText(entry.type)).toBe("a<U+0000>");
  expect(idText("0123456789abcdef")).toBe("0123456789ab…");
});

test("a pause is the time between two entries if it is long", () => {
  const [a, b, c] = readFlowPage({
    entries: [1, 2, 3].map((seq) => ({ seq, t_ns: seq === 3 ? 5e9 : seq * 1e6 })),
  }).entries;
  if (a === undefined || b === undefined || c === undefined) throw new Error("no entries");
  expect(pauseBefore(null, a)).toBeNull();
  expect(pauseBefore(a, b)).toBeNull();
  expect(pauseBefore(b, c)).toBe(4998);
  expect(pauseBefore(c, a)).toBeNull();
});

test("entries with problem notes or failed requests are odd", () => {
  const page = readFlowPage({
    entries: ["", "relayed", "late", "tamper"].map((note, i) => ({ seq: i + 1, note })),
    requests: { "1": { state: "unanswered", slowest: "kernel" }, "2": { state: "answered", late_ms: 3 } },
  });
  const waiting = page.requests.get(1);
  const stale = page.requests.get(2);
  if (waiting === undefined || stale === undefined) throw new Error("no requests");
  expect(page.entries.map((entry) => isOdd(entry, null, true))).toEqual([false, false, true, true]);
  expect(page.entries.slice(0, 1).map((entry) => isOdd(entry, waiting, false))).toEqual([false]);
  expect(page.entries.slice(0, 1).map((entry) => isOdd(entry, waiting, true))).toEqual([true]);
  expect(faultOf(stale, true)?.label).toBe("late");
  expect(waitText(waiting, 3900)).toBe("waiting for kernel for 3.0 s");
  expect(waitText({ ...waiting, slowest: "run" }, 61_000)).toBe("running for 1 min 01 s");
});
