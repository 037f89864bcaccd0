import { afterEach, expect, test, vi } from "vitest";
import { fakeServer, problemResponse } from "../../api/fakeServer";
import { readLines } from "./readLines";

afterEach(() => vi.unstubAllGlobals());

const neverAbortedSignal = new AbortController().signal;

test("all pages are read, and last is the number of the last line", async () => {
  const server = fakeServer({
    "/api/runs/r/attempts": (url) =>
      url.searchParams.get("after") === "0"
        ? { attempts: [{ n: 1 }, { n: 2 }], next: 2, last: 2 }
        : { attempts: [{ n: 3 }], next: null, last: 4 },
  });
  expect(await readLines("r", 0, neverAbortedSignal)).toEqual({
    lines: [{ n: 1 }, { n: 2 }, { n: 3 }],
    last: 4,
    leftOut: null,
  });
  expect(server.requests.map((url) => url.searchParams.get("after"))).toEqual(["0", "2"]);
  expect(server.requests[0]?.searchParams.get("brief")).toBe("true");
});

test("unreadable lines are counted over all pages and numbered as in an editor", async () => {
  fakeServer({
    "/api/runs/r/attempts": (url) =>
      url.searchParams.get("after") === "0"
        ? { attempts: [{ n: 1 }], next: 4, last: 4, left_out: { lines: 3, first: 2 } }
        : { attempts: [{ n: 6 }], next: null, last: 6, left_out: { lines: 1, first: 5 } },
  });
  const read = await readLines("r", 0, neverAbortedSignal);
  expect(read).toEqual({ lines: [{ n: 1 }, { n: 6 }], last: 6, leftOut: { lines: 4, first: 3 } });
});

test("a response that repeats its position does not cause endless requests", async () => {
  const server = fakeServer({ "/api/runs/r/attempts": () => ({ attempts: [], next: 0, last: 0 }) });
  await readLines("r", 0, neverAbortedSignal);
  expect(server.requests).toHaveLength(1);
});

test("an unreadable file rejects", async () => {
  const server = fakeServer({ "/api/runs/r/attempts": () => problemResponse(500, "unreadable", "permission denied") });
  await expect(readLines("r", 0, neverAbortedSignal)).rejects.toThrow("permission denied");
  expect(server.requests).toHaveLength(1);
});

test.each([null, [[]], "x", { attempts: 7, next: "x", last: {}, left_out: [9] }])(
  "an answer that is none is nothing: %j",
  async (answer) => {
    fakeServer({ "/api/runs/r/attempts": () => answer });
    expect(await readLines("r", 5, neverAbortedSignal)).toEqual({ lines: [], last: 5, leftOut: null });
  },
);
