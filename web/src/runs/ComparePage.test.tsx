import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import ComparePage from "./ComparePage";
import { fakeServer } from "./fakeServer";

vi.mock("../app/config", () => ({ useConfig: () => ({ console: false }) }));
vi.mock("../panel/Conversation", () => ({ Conversation: () => <p>a conversation</p> }));
vi.mock("../outputs/Outputs", () => ({ Outputs: () => <p>outputs</p> }));

const runs = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };

/** Two runs of one case; the second one's cell has another line. */
function serve() {
  const routes: Record<string, (url: URL) => unknown> = {
    "/api/runs": () => ({
      runs: [
        { name: "one", summary: {} },
        { name: "two", summary: {} },
      ],
      next: null,
    }),
  };
  for (const run of ["one", "two"]) {
    const base = `/api/runs/${run}/attempts`;
    const line = {
      type: "attempt",
      name: "a",
      case_id: "sum",
      outcome: "completed",
      passed: run === "one",
      duration_ms: 5,
    };
    const source = run === "one" ? "x = 1\ny = 2" : "x = 1\ny = 3";
    const cells = [{ cell_id: run, cell_type: "code", source, display_name: "", rev: 1 }];
    routes[base] = () => ({ attempts: [line, { ...line, name: "b", case_id: "summer" }], next: null });
    routes[`${base}/a`] = () => line;
    routes[`${base}/a/at`] = (url) => ({
      type: "notebook_state",
      seq: Number(url.searchParams.get("seq") ?? 9),
      t_ns: 9e9,
      end: 9,
      complete: true,
      cells: url.searchParams.has("seq") ? [] : cells,
      runs,
    });
    routes[`${base}/a/trace`] = (url) => ({
      entries: url.searchParams.has("brief") ? [{ seq: 9, t_ns: 9e9, hop: "notebook", type: "notebook_event" }] : [],
      next: null,
    });
  }
  return fakeServer(routes);
}

beforeEach(() => window.history.replaceState(null, "", "/compare?a=one/a&b=two/a"));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test("figures and cells stand side by side, and only what differs is marked", async () => {
  serve();
  render(<ComparePage />);
  expect((await screen.findByRole("row", { name: /^Verdict/ })).textContent).toBe("Verdictpassedfaileddifferent");
  await waitFor(() => expect(document.querySelector("del")?.textContent).toContain("y = 2"));
  expect(document.querySelector("ins")?.textContent).toContain("y = 3");
  expect(document.querySelectorAll("del, ins")).toHaveLength(2);
});

test("B is chosen among the attempts at the case of A", async () => {
  window.history.replaceState(null, "", "/compare?a=one/a");
  const server = serve();
  render(<ComparePage />);
  await screen.findAllByRole("option", { name: /two/ });
  await waitFor(() => expect(server.asked.some((url) => url.pathname === "/api/runs/one/attempts/a")).toBe(true));
  fireEvent.change(screen.getByLabelText("Run of B"), { target: { value: "two" } });
  await waitFor(() => expect(screen.getByLabelText("Attempt of B").querySelectorAll("option")).toHaveLength(2));
  fireEvent.change(screen.getByLabelText("Attempt of B"), { target: { value: "a" } });
  expect(new URLSearchParams(window.location.search).get("b")).toBe("two/a");
});

test("one slider takes both back", async () => {
  const server = serve();
  render(<ComparePage />);
  await waitFor(() => expect(document.querySelector("del")).not.toBeNull());
  fireEvent.change(screen.getByRole("slider"), { target: { value: "0" } });
  expect(await screen.findByText("Both notebooks are empty here.")).toBeDefined();
  const asked = server.asked.filter((url) => url.pathname.endsWith("/at") && url.searchParams.has("seq"));
  expect(asked.map((url) => `${url.pathname} ${url.searchParams.get("seq")}`).sort()).toEqual([
    "/api/runs/one/attempts/a/at 1",
    "/api/runs/two/attempts/a/at 1",
  ]);
});

test.each(["", "?a=one", "?a=/&b=//", "?a=%E0%A4%A&b=x/y/z"])(
  "an address that names nothing asks for a choice: %s",
  async (search) => {
    window.history.replaceState(null, "", `/compare${search}`);
    serve();
    render(<ComparePage />);
    expect(await screen.findByText("Choose two attempts.")).toBeDefined();
  },
);
