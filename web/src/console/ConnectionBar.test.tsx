import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection, Role } from "../agent/sessionSnapshot";
import { ConnectionBar, viewAddress } from "./ConnectionBar";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function draw(connection: Partial<Connection>, role: Role = "view") {
  const retry = vi.fn();
  render(
    <ConnectionBar
      connection={{ state: "disconnected", code: null, reason: "", retryAt: null, retry, ...connection }}
      role={role}
    />,
  );
  return retry;
}

const words = () => screen.queryByRole("status")?.textContent ?? "";

test.each([
  { state: "connected", code: 1006 } as const,
  { state: "wsConnecting", code: null } as const,
  { state: "disconnected", code: null } as const,
])("says nothing of $state after $code", (connection) => {
  draw(connection);
  expect(screen.queryByRole("status")).toBeNull();
});

test("a lost connection says what is kept, counts down, and can be tried at once", () => {
  const retry = draw({ code: 1006, retryAt: Date.now() + 3000 });
  expect(words()).toContain("The connection to the server is lost.");
  expect(words()).toContain("What you type is kept");
  expect(words()).toContain("Next try in 3 s");
  act(() => vi.advanceTimersByTime(2000));
  expect(words()).toContain("Next try in 1 s");
  act(() => vi.advanceTimersByTime(5000));
  expect(words()).toContain("Next try in 0 s");
  fireEvent.click(screen.getByRole("button", { name: "Try now" }));
  expect(retry).toHaveBeenCalledOnce();
});

test("while it is tried nothing is counted, and it cannot be tried twice", () => {
  draw({ state: "wsConnecting", code: 1006 });
  expect(words()).toContain("Trying…");
  expect(screen.getByRole<HTMLButtonElement>("button").disabled).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("a server that gives no sign of life any more has said nothing", () => {
  draw({ code: 1006, reason: "the server does not answer" });
  expect(words()).toContain("is lost. The server does not answer. What you type is kept");
});

test("a console that was opened elsewhere can be taken back", () => {
  const retry = draw({ code: 4001, reason: "replaced" });
  expect(words()).toContain("opened somewhere else");
  fireEvent.click(screen.getByRole("button", { name: "Use it here" }));
  expect(retry).toHaveBeenCalledOnce();
});

test("a holder that is refused is told by whom, and may view", () => {
  draw({ code: 4009, reason: "the server holds the notebook" }, "holder");
  expect(words()).toContain("The server says: the server holds the notebook.");
  expect(screen.getByRole("link", { name: "Open it as a view" }).getAttribute("href")).toContain("role=view");
  expect(screen.queryByRole("button", { name: "Try now" })).toBeNull();
});

test("a view that is refused is told that a console holds the notebook", () => {
  draw({ code: 4009, reason: "a console holds the notebook" });
  expect(words()).toContain("cannot be viewed");
  expect(screen.queryByRole("link")).toBeNull();
});

test.each([
  [1001, "The server has ended."],
  [1008, "refused this connection"],
  [1009, "larger than the server takes"],
])("code %i says what is the matter", (code, expected) => {
  draw({ code, reason: "<b>why</b>" });
  expect(words()).toContain(expected);
  expect(words()).toContain("<b>why</b>");
  expect(screen.getByRole("button", { name: "Try now" })).toBeTruthy();
});

test("a session that could not start says whose fault that is, and where its words are", () => {
  draw({
    code: 1008,
    reason: 'session "s" could not start: agent exited with status 1; it printed last: Traceback (mo',
  });
  expect(words()).toBe(
    "The session could not start. The agent exited with status 1. Its last words are in the log of the panel.Try now",
  );
});

test("one that was too slow, and tries again by itself, is a lost connection", () => {
  draw({ code: 1008, reason: "too slow", retryAt: Date.now() + 1000 });
  expect(words()).toContain("The connection to the server is lost.");
});

test("the address of the view keeps the session", () => {
  expect(viewAddress("http://localhost:8765/?session=a%20b&role=holder")).toBe("/?session=a+b&role=view");
});
