import { expect, test } from "vitest";
import { read } from "../json/schema";
import { flowPageSchema } from "../protocol/api.gen";
import { flowPageOf } from "./entry";

const flowPageOfAnswer = (answer: unknown) => flowPageOf(read(flowPageSchema, answer));

import { entrySubjectText, pauseBeforeEntry, requestWaitText, shortIdText, shortNameText } from "./entryTexts";
import { arrowOfHop, colourOfArrow, laneMiddle, lanesOf } from "./lanes";
import { sameAsEarlierText } from "./modelCall";
import { isOddEntry, oddityOfNote, oddityOfRequest } from "./oddity";

const malformedEntries = [null, 7, "text", [], [[]], { seq: "1" }, { seq: -1 }, { seq: 1.5 }, { seq: Number.NaN }, {}];

test("a malformed response has no rows", () => {
  for (const answer of malformedEntries)
    expect(flowPageOfAnswer(answer)).toMatchObject({ entries: [], count: null, end: 0, complete: false });
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
  const page = flowPageOfAnswer({
    entries: [...malformedEntries, odd],
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
  expect(arrowOfHop("agent>server", lanesOf(false))).toEqual({ from: "agent", to: "server" });
  for (const hop of ["", "notebook", "agent>moon", "agent>agent", "a>b>c", "agent>server>kernel", "__proto__>server"]) {
    expect(arrowOfHop(hop, lanesOf(true))).toBeNull();
  }
});

test("models have a lane, and their arrows a colour, if there are calls", () => {
  expect(lanesOf(false)).toEqual(["console", "agent", "server", "kernel"]);
  expect(arrowOfHop("agent>model", lanesOf(false))).toBeNull();
  const lanes = lanesOf(true);
  expect(lanes.map((lane) => laneMiddle(lane, lanes))).toEqual([0.1, 0.3, 0.5, 0.7, 0.9]);
  const arrows = ["agent>model", "model>agent", "agent>server", "server>kernel"].map((hop) => arrowOfHop(hop, lanes));
  expect(arrows.map((arrow) => arrow && colourOfArrow(arrow))).toEqual(["model", "model", "agent", "kernel"]);
});

test("what a call leaves out because an earlier one has it is said in words", () => {
  expect(sameAsEarlierText({ same: { call: 3, count: 12, digest: "ab", members: ["tools", "system"] } })).toBe(
    "call 3 has the same: the first 12 messages, tools, system",
  );
  expect(sameAsEarlierText({ same: { call: 1, count: 1 } })).toMatch(/: the first message$/);
  for (const message of [null, 7, {}, { same: null }, { same: [] }]) expect(sameAsEarlierText(message)).toBe("");
});

test("an unknown note is its own label", () => {
  expect(oddityOfNote("")).toBeNull();
  expect(oddityOfNote("timed_out")?.label).toBe("timed out");
  expect(oddityOfNote("constructor")).toEqual({ icon: "other", label: "constructor", tone: "plain" });
});

test("direction-changing characters are made visible, and long texts are cut", () => {
  const [entry] = flowPageOfAnswer({
    entries: [{ seq: 1, hop: "\u202e", type: "a\u0000", label: "x".repeat(1e6) }],
  }).entries;
  if (entry === undefined) throw new Error("no entry");
  expect(entrySubjectText(entry).length).toBeLessThan(70);
  expect(shortNameText(entry.type)).toBe("a<U+0000>");
  expect(shortIdText("0123456789abcdef")).toBe("0123456789ab…");
});

test("a pause is the time between two entries if it is long", () => {
  const [a, b, c] = flowPageOfAnswer({
    entries: [1, 2, 3].map((seq) => ({ seq, t_ns: seq === 3 ? 5e9 : seq * 1e6 })),
  }).entries;
  if (a === undefined || b === undefined || c === undefined) throw new Error("no entries");
  expect(pauseBeforeEntry(null, a)).toBeNull();
  expect(pauseBeforeEntry(a, b)).toBeNull();
  expect(pauseBeforeEntry(b, c)).toBe(4998);
  expect(pauseBeforeEntry(c, a)).toBeNull();
});

test("entries with problem notes or failed requests are odd", () => {
  const page = flowPageOfAnswer({
    entries: ["", "relayed", "late", "tamper"].map((note, i) => ({ seq: i + 1, note })),
    requests: { "1": { state: "unanswered", slowest: "kernel" }, "2": { state: "answered", late_ms: 3 } },
  });
  const waiting = page.requests.get(1);
  const stale = page.requests.get(2);
  if (waiting === undefined || stale === undefined) throw new Error("no requests");
  expect(page.entries.map((entry) => isOddEntry(entry, null, true))).toEqual([false, false, true, true]);
  expect(page.entries.slice(0, 1).map((entry) => isOddEntry(entry, waiting, false))).toEqual([false]);
  expect(page.entries.slice(0, 1).map((entry) => isOddEntry(entry, waiting, true))).toEqual([true]);
  expect(oddityOfRequest(stale, true)?.label).toBe("late");
  expect(requestWaitText(waiting, 3900)).toBe("waiting for kernel for 3.0 s");
  expect(requestWaitText({ ...waiting, slowest: "model" }, 3000)).toBe("waiting for the model for 3.0 s");
  expect(requestWaitText({ ...waiting, slowest: "wait" }, 3000)).toBe("waiting for other calls for 3.0 s");
  expect(requestWaitText({ ...waiting, slowest: "run" }, 61_000)).toBe("running for 1 min 01 s");
});
