import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../../api/fakeSocket";
import { messageFromJSON } from "../../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../../protocol/messages";
import { createStore, StoreProvider } from "../../store/store";
import { ProcessLog } from "./ProcessLog";

let openedSocketURLs: string[];

beforeEach(() => {
  FakeSocket.install();
  openedSocketURLs = [];
  const Real = WebSocket;
  vi.stubGlobal("WebSocket", function connect(url: string) {
    openedSocketURLs.push(url);
    return new Real(url);
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function renderLog({ attempt = false, refused = "" } = {}) {
  const store = createStore();
  let seq = 0;
  const applyMessage = (msg: OutgoingMessage, hop: Hop = "agent>server") =>
    act(() => store.apply([{ seq: ++seq, hop, msg: messageFromJSON(msg) }]));
  const element = (refusal = refused) => (
    <StoreProvider value={store}>
      <ProcessLog session="a b" attempt={attempt} refused={refusal} />
    </StoreProvider>
  );
  const { rerender } = render(element());
  return { applyMessage, setRefusal: (refusal: string) => rerender(element(refusal)) };
}

let lastLineNumber = 0;
const logLine = (text: unknown, name: unknown = "agent", process = 1) => ({
  n: ++lastLineNumber,
  at: "2026-11-20T14:00:00Z",
  name,
  process,
  text,
});
const sendLines = (...lines: unknown[]) => act(() => FakeSocket.newest().send({ lines }));
const toggleButton = () => screen.getByRole("button", { expanded: isLogOpen() });
const isLogOpen = () => screen.getAllByRole("button")[0]?.getAttribute("aria-expanded") === "true";
const logText = () => screen.queryByRole("region", { name: /^Log of/ })?.textContent ?? "";
const agentExitMessage = (code: number, signal = ""): [OutgoingMessage, Hop] => [
  { type: "managed_process_exit", name: "agent", exit_code: code, signal },
  "session",
];

test("opens no connection while collapsed, and follows the log while open", () => {
  renderLog();
  expect(isLogOpen()).toBe(false);
  expect(openedSocketURLs).toEqual([]);
  fireEvent.click(toggleButton());
  expect(openedSocketURLs.map((url) => new URL(url).pathname + new URL(url).search)).toEqual(["/printed?session=a+b"]);
  act(() => FakeSocket.newest().open());
  expect(screen.getByText("No output from the agent yet.")).toBeTruthy();
  sendLines(logLine("one"), logLine("from the kernel", "kernel"));
  sendLines(logLine("\u001b[31mtwo\u001b[0m <script>alert(1)</script>"));
  expect(logText()).toBe("onetwo <script>alert(1)</script>");
  expect(document.querySelector("script")).toBeNull();
  fireEvent.click(screen.getByRole("radio", { name: "Kernel" }));
  expect(logText()).toBe("from the kernel");
  fireEvent.click(toggleButton());
  expect(FakeSocket.newest().closed).toBe(true);
});

test("opens with the last output of a crashed agent, and closes when the agent runs again", async () => {
  const { applyMessage } = renderLog();
  applyMessage({ type: "agent_status", status: "ready" });
  applyMessage(...agentExitMessage(1));
  expect(screen.getByText("Last output")).toBeTruthy();
  sendLines(logLine("Traceback"), logLine("KeyError: 'x'"));
  expect(logText()).toBe("TracebackKeyError: 'x'");
  fireEvent.click(toggleButton());
  expect(isLogOpen()).toBe(false);
  applyMessage({ type: "ready" });
  expect(isLogOpen()).toBe(false);
  applyMessage(...agentExitMessage(1));
  expect(isLogOpen()).toBe(true);
  applyMessage({ type: "ready" });
  expect(isLogOpen()).toBe(false);
});

test("stays closed for a clean exit in an attempt and for a stop by the server; opens for the verdict agent_exit", () => {
  const { applyMessage } = renderLog({ attempt: true });
  applyMessage(...agentExitMessage(0));
  expect(isLogOpen()).toBe(false);
  applyMessage({ type: "eval_result", outcome: "completed" }, "server>console");
  expect(isLogOpen()).toBe(false);
  cleanup();
  const other = renderLog();
  other.applyMessage(...agentExitMessage(-1, "SIGTERM"));
  expect(isLogOpen()).toBe(false);
  other.applyMessage({ type: "eval_result", outcome: "agent_exit" }, "server>console");
  expect(isLogOpen()).toBe(true);
});

test("opens for a clean exit outside an attempt and for a dead kernel, whose output is shown", () => {
  const { applyMessage } = renderLog();
  applyMessage(...agentExitMessage(0));
  expect(isLogOpen()).toBe(true);
  cleanup();
  renderLog().applyMessage(
    { type: "managed_process_exit", name: "kernel", exit_code: -1, signal: "SIGSEGV" },
    "session",
  );
  sendLines(logLine("Segmentation fault", "kernel"));
  expect(logText()).toBe("Segmentation fault");
});

test("shows the output of the process that kept the session from starting", () => {
  const { setRefusal } = renderLog();
  setRefusal('session "s" could not start: kernel exited with status 1; it printed last: agent');
  sendLines(logLine("no such interpreter", "kernel"));
  expect(logText()).toBe("no such interpreter");
  setRefusal("");
  expect(isLogOpen()).toBe(false);
});

test("marks the output of a new process, and loads the log again after a lost connection", () => {
  vi.useFakeTimers();
  renderLog();
  fireEvent.click(toggleButton());
  sendLines(logLine("before", "agent", 1));
  sendLines(logLine("after", "agent", 3));
  expect(logText()).toMatch(/^beforeNew agent process, \d\d:\d\d:\d\dafter$/);
  act(() => FakeSocket.newest().end(1006));
  expect(screen.getByText(/Disconnected/)).toBeTruthy();
  const lost = FakeSocket.newest();
  act(() => vi.advanceTimersByTime(300));
  expect(FakeSocket.newest()).not.toBe(lost);
  act(() => FakeSocket.newest().open());
  sendLines(logLine("after", "agent", 3));
  expect(logText()).toBe("after");
  expect(screen.queryByText(/Disconnected/)).toBeNull();
});

test("survives malformed messages and keeps at most 1000 lines", () => {
  renderLog();
  fireEvent.click(toggleButton());
  act(() => FakeSocket.newest().onmessage?.({ data: "{" }));
  for (const message of [
    null,
    7,
    [],
    { lines: 7 },
    { lines: [null, { name: "toString", text: "x" }, logLine(7), logLine(null)] },
  ]) {
    act(() => FakeSocket.newest().send(message));
  }
  expect(logText()).toBe("");
  sendLines(...Array.from({ length: 5000 }, (_, at) => logLine(`line ${at}\u202e`)));
  expect(logText()).toContain("line 4999");
  expect(logText()).not.toContain("line 3999");
});
