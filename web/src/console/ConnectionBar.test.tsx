import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection, ConsoleRole } from "../agent/sessionSnapshot";
import { ConnectionBar, viewAddress } from "./ConnectionBar";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function renderConnectionBar(connection: Partial<Connection>, role: ConsoleRole = "view") {
  const retry = vi.fn();
  render(
    <ConnectionBar
      connection={{ state: "disconnected", code: null, reason: "", retryAt: null, retry, ...connection }}
      role={role}
    />,
  );
  return retry;
}

const statusText = () => screen.queryByRole("status")?.textContent ?? "";

test.each([
  { state: "connected", code: 1006 } as const,
  { state: "wsConnecting", code: null } as const,
  { state: "disconnected", code: null } as const,
])("shows nothing for state $state and close code $code", (connection) => {
  renderConnectionBar(connection);
  expect(screen.queryByRole("status")).toBeNull();
});

test("a lost connection shows what happens to edits, counts down to the next try, and can be retried at once", () => {
  const retry = renderConnectionBar({ code: 1006, retryAt: Date.now() + 3000 });
  expect(statusText()).toContain("The connection to the server is lost.");
  expect(statusText()).toContain("Your edits are kept");
  expect(statusText()).toContain("Next try in 3 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(statusText()).toContain("Next try in 1 s");
  act(() => vi.advanceTimersByTime(5000));
  expect(statusText()).toContain("Next try in 0 s");
  fireEvent.click(screen.getByRole("button", { name: "Try now" }));
  expect(retry).toHaveBeenCalledOnce();
});

test("while connecting there is no countdown and the button is disabled", () => {
  renderConnectionBar({ state: "wsConnecting", code: 1006 });
  expect(statusText()).toContain("Trying…");
  expect(screen.getByRole<HTMLButtonElement>("button").disabled).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("after an abnormal close the reason is not attributed to the server", () => {
  renderConnectionBar({ code: 1006, reason: "the server does not answer" });
  expect(statusText()).toContain("is lost. The server does not answer. Your edits are kept");
});

test("a console that was opened elsewhere can be used here again", () => {
  const retry = renderConnectionBar({ code: 4001, reason: "replaced" });
  expect(statusText()).toContain("opened somewhere else");
  fireEvent.click(screen.getByRole("button", { name: "Use it here" }));
  expect(retry).toHaveBeenCalledOnce();
});

test("a refused holder sees the server's reason and a link to the view", () => {
  renderConnectionBar({ code: 4009, reason: "the server holds the notebook" }, "holder");
  expect(statusText()).toContain("The server says: the server holds the notebook.");
  expect(screen.getByRole("link", { name: "Open it as a view" }).getAttribute("href")).toContain("role=view");
  expect(screen.queryByRole("button", { name: "Try now" })).toBeNull();
});

test("a refused view shows that it cannot be viewed, and no link", () => {
  renderConnectionBar({ code: 4009, reason: "a console holds the notebook" });
  expect(statusText()).toContain("cannot be viewed");
  expect(screen.queryByRole("link")).toBeNull();
});

test.each([
  [1001, "The server has shut down."],
  [1008, "refused this connection"],
  [1009, "larger than the server accepts"],
])("close code %i shows its explanation and the reason", (code, expected) => {
  renderConnectionBar({ code, reason: "<b>why</b>" });
  expect(statusText()).toContain(expected);
  expect(statusText()).toContain("<b>why</b>");
  expect(screen.getByRole("button", { name: "Try now" })).toBeTruthy();
});

test("a session that could not start shows which process failed and where its output is", () => {
  renderConnectionBar({
    code: 1008,
    reason: 'session "s" could not start: agent exited with status 1; it printed last: Traceback (mo',
  });
  expect(statusText()).toBe(
    "The session could not start. The agent exited with status 1. The log in the panel shows its last output.Try now",
  );
});

test("close code 1008 with a scheduled retry is shown as a lost connection", () => {
  renderConnectionBar({ code: 1008, reason: "too slow", retryAt: Date.now() + 1000 });
  expect(statusText()).toContain("The connection to the server is lost.");
});

test("viewAddress keeps the session and sets the role", () => {
  expect(viewAddress("http://localhost:8765/?session=a%20b&role=holder")).toBe("/?session=a+b&role=view");
});
