import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeServer } from "../api/fakeServer";
import ComparePage from "./ComparePage";

vi.mock("../api/config", () => ({ useConfig: () => ({ console: false }) }));
vi.mock("../agentPanel/Conversation", () => ({ Conversation: () => <p>a conversation</p> }));
vi.mock("../widgets/CellOutputs", () => ({ CellOutputs: () => <p>outputs</p> }));

const noExecutions = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };

/**
 * Serves two runs of one case from a fake API. The notebook of the second run has a different line
 * in its cell.
 */
function serveTwoRuns() {
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
      runs: noExecutions,
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

test("figures and cells are side by side, and only differences are marked", async () => {
  serveTwoRuns();
  render(<ComparePage />);
  expect((await screen.findByRole("row", { name: /^Verdict/ })).textContent).toBe("Verdictpassedfaileddifferent");
  await waitFor(() => expect(document.querySelector("del")?.textContent).toContain("y = 2"));
  expect(document.querySelector("ins")?.textContent).toContain("y = 3");
  expect(document.querySelectorAll("del, ins")).toHaveLength(2);
});

test("only attempts at the case of A can be selected as B", async () => {
  window.history.replaceState(null, "", "/compare?a=one/a");
  const server = serveTwoRuns();
  render(<ComparePage />);
  await screen.findAllByRole("option", { name: /two/ });
  await waitFor(() => expect(server.requests.some((url) => url.pathname === "/api/runs/one/attempts/a")).toBe(true));
  fireEvent.change(screen.getByLabelText("Run of B"), { target: { value: "two" } });
  await waitFor(() => expect(screen.getByLabelText("Attempt of B").querySelectorAll("option")).toHaveLength(2));
  fireEvent.change(screen.getByLabelText("Attempt of B"), { target: { value: "a" } });
  expect(new URLSearchParams(window.location.search).get("b")).toBe("two/a");
});

test("a B of another case is selected and marked as such", async () => {
  window.history.replaceState(null, "", "/compare?a=one/a&b=two/b");
  const server = serveTwoRuns();
  server.routes["/api/runs/two/attempts"] = () => ({ attempts: [], next: null });
  render(<ComparePage />);
  await waitFor(() => {
    const select = screen.getByLabelText("Attempt of B") as HTMLSelectElement;
    expect(select.selectedOptions[0]?.textContent).toBe("b (other case)");
  });
});

test("two runs are compared case by case, differing cases first", async () => {
  window.history.replaceState(null, "", "/compare?runs=one,two%2520%252C");
  const line = (name: string, caseId: string, passed: boolean | null, epoch = 1) => {
    return { type: "attempt", name, case_id: caseId, epoch, try: 1, outcome: "completed", passed };
  };
  fakeServer({
    "/api/runs/one/attempts": () => ({
      attempts: [line("a1", "a", true), line("b1", "b", true), line("c1", "c", true), line("c2", "c", true, 2)],
      next: null,
    }),
    [`/api/runs/${encodeURIComponent("two ,")}/attempts`]: () => ({
      attempts: [line("a9", "a", true), line("c8", "c", true), line("c9", "c", false, 2), { type: "summary" }],
      next: null,
    }),
  });
  render(<ComparePage />);
  const cases = async () => (await screen.findAllByRole("rowheader")).map((cell) => cell.textContent);
  expect(await cases()).toEqual(["c, not the same", "a", "b"]);
  expect(screen.getByRole("row", { name: /^c/ }).textContent).toContain("1/2 passed");
  expect(screen.getByRole("link", { name: "Epoch 2, failed" }).getAttribute("href")).toBe("/runs/two%20%2C/c9");
  expect(screen.getByRole("row", { name: /^b/ }).textContent).toContain("not tried");
  const counts = [...document.querySelectorAll("dl dd")].map((value) => value.textContent);
  expect(counts).toEqual(["1", "1", "0", "0", "1"]);
});

test("one slider moves both timelines", async () => {
  const server = serveTwoRuns();
  render(<ComparePage />);
  await waitFor(() => expect(document.querySelector("del")).not.toBeNull());
  fireEvent.change(screen.getByRole("slider"), { target: { value: "0" } });
  expect(await screen.findByText("Both notebooks are empty here.")).toBeDefined();
  const asked = server.requests.filter((url) => url.pathname.endsWith("/at") && url.searchParams.has("seq"));
  expect(asked.map((url) => `${url.pathname} ${url.searchParams.get("seq")}`).sort()).toEqual([
    "/api/runs/one/attempts/a/at 1",
    "/api/runs/two/attempts/a/at 1",
  ]);
});

test.each(["", "?a=one", "?a=/&b=//", "?a=%E0%A4%A&b=x/y/z"])(
  "an address that names nothing asks for a choice: %s",
  async (search) => {
    window.history.replaceState(null, "", `/compare${search}`);
    serveTwoRuns();
    render(<ComparePage />);
    expect(await screen.findByText("Choose two attempts.")).toBeDefined();
  },
);
