import { afterEach, expect, test, vi } from "vitest";
import { fakeServer, problem } from "../fakeServer";
import { readLines } from "./readLines";

afterEach(() => vi.unstubAllGlobals());

const signal = new AbortController().signal;

test("pages are read to the end, and last says where to go on", async () => {
  const server = fakeServer({
    "/api/runs/r/attempts": (url) =>
      url.searchParams.get("after") === "0"
        ? { attempts: [{ n: 1 }, { n: 2 }], next: 2, last: 2 }
        : { attempts: [{ n: 3 }], next: null, last: 4 },
  });
  expect(await readLines("r", 0, signal)).toEqual({ lines: [{ n: 1 }, { n: 2 }, { n: 3 }], last: 4, problems: [] });
  expect(server.asked.map((url) => url.searchParams.get("after"))).toEqual(["0", "2"]);
  expect(server.asked[0]?.searchParams.get("brief")).toBe("true");
});

test("a line that cannot be read is told and passed over", async () => {
  fakeServer({
    "/api/runs/r/attempts": (url) => {
      const after = Number(url.searchParams.get("after"));
      if (after === 0) return { attempts: [{ n: 1 }], next: 1, last: 1 };
      if (after === 1) return problem(500, "unreadable", "line 2 is no JSON");
      return { attempts: [{ n: 3 }], next: null, last: 3 };
    },
  });
  expect(await readLines("r", 0, signal)).toEqual({
    lines: [{ n: 1 }, { n: 3 }],
    last: 3,
    problems: ["line 2 is no JSON"],
  });
});

test("a file that cannot be read at all is an error, not a loop", async () => {
  const server = fakeServer({ "/api/runs/r/attempts": () => problem(500, "unreadable", "permission denied") });
  await expect(readLines("r", 0, signal)).rejects.toThrow("permission denied");
  expect(server.asked).toHaveLength(3);
});

test.each([null, [[]], "x", { attempts: 7, next: "x", last: {} }])(
  "an answer that is none is nothing: %j",
  async (answer) => {
    fakeServer({ "/api/runs/r/attempts": () => answer });
    expect(await readLines("r", 5, signal)).toEqual({ lines: [], last: 5, problems: [] });
  },
);
