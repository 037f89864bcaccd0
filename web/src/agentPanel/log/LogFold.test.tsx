import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../../api/fakeSocket";
import { messageOf } from "../../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../../protocol/messages";
import { createStore, StoreProvider } from "../../store/store";
import { LogFold } from "./LogFold";

let made: string[];

beforeEach(() => {
  FakeSocket.install();
  made = [];
  const Real = WebSocket;
  vi.stubGlobal("WebSocket", function connect(url: string) {
    made.push(url);
    return new Real(url);
  });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function draw({ attempt = false, refused = "" } = {}) {
  const store = createStore();
  let seq = 0;
  const tell = (msg: OutgoingMessage, hop: Hop = "agent>server") =>
    act(() => store.apply([{ seq: ++seq, hop, msg: messageOf(msg) }]));
  const ui = (more = refused) => (
    <StoreProvider value={store}>
      <LogFold session="a b" attempt={attempt} refused={more} />
    </StoreProvider>
  );
  const { rerender } = render(ui());
  return { tell, refuse: (why: string) => rerender(ui(why)) };
}

let n = 0;
const line = (text: unknown, name: unknown = "agent", process = 1) => ({
  n: ++n,
  at: "2026-11-20T14:00:00Z",
  name,
  process,
  text,
});
const send = (...lines: unknown[]) => act(() => FakeSocket.newest().send({ lines }));
const toggle = () => screen.getByRole("button", { expanded: isOpen() });
const isOpen = () => screen.getAllByRole("button")[0]?.getAttribute("aria-expanded") === "true";
const log = () => screen.queryByRole("region", { name: /printed/ })?.textContent ?? "";
const exit = (code: number, signal = ""): [OutgoingMessage, Hop] => [
  { type: "managed_process_exit", name: "agent", exit_code: code, signal },
  "session",
];

test("folded, nothing is asked for; opened, it is followed", () => {
  draw();
  expect(isOpen()).toBe(false);
  expect(made).toEqual([]);
  fireEvent.click(toggle());
  expect(made.map((url) => new URL(url).pathname + new URL(url).search)).toEqual(["/printed?session=a+b"]);
  act(() => FakeSocket.newest().open());
  expect(screen.getByText("The agent has printed nothing.")).toBeTruthy();
  send(line("one"), line("from the kernel", "kernel"));
  send(line("\u001b[31mtwo\u001b[0m <script>alert(1)</script>"));
  expect(log()).toBe("onetwo <script>alert(1)</script>");
  expect(document.querySelector("script")).toBeNull();
  fireEvent.click(screen.getByRole("radio", { name: "Kernel" }));
  expect(log()).toBe("from the kernel");
  fireEvent.click(toggle());
  expect(FakeSocket.newest().closed).toBe(true);
});

test("the last words of an agent that has crashed stand there at once, and fold when another works", async () => {
  const { tell } = draw();
  tell({ type: "agent_status", status: "ready" });
  tell(...exit(1));
  expect(screen.getByText("Last words")).toBeTruthy();
  send(line("Traceback"), line("KeyError: 'x'"));
  expect(log()).toBe("TracebackKeyError: 'x'");
  fireEvent.click(toggle());
  expect(isOpen()).toBe(false);
  tell({ type: "ready" });
  expect(isOpen()).toBe(false);
  tell(...exit(1));
  expect(isOpen()).toBe(true);
  tell({ type: "ready" });
  expect(isOpen()).toBe(false);
});

test("an agent that ends well in an attempt, or is stopped by the server, is no trouble; a verdict of its death is", () => {
  const { tell } = draw({ attempt: true });
  tell(...exit(0));
  expect(isOpen()).toBe(false);
  tell({ type: "eval_result", outcome: "completed" }, "server>console");
  expect(isOpen()).toBe(false);
  cleanup();
  const other = draw();
  other.tell(...exit(-1, "SIGTERM"));
  expect(isOpen()).toBe(false);
  other.tell({ type: "eval_result", outcome: "agent_exit" }, "server>console");
  expect(isOpen()).toBe(true);
});

test("a clean end that nobody wanted is a trouble, and so is a dead kernel, whose words are shown", () => {
  const { tell } = draw();
  tell(...exit(0));
  expect(isOpen()).toBe(true);
  cleanup();
  draw().tell({ type: "managed_process_exit", name: "kernel", exit_code: -1, signal: "SIGSEGV" }, "session");
  send(line("Segmentation fault", "kernel"));
  expect(log()).toBe("Segmentation fault");
});

test("a session that could not start shows the words of who was to blame", () => {
  const { refuse } = draw();
  refuse('session "s" could not start: kernel exited with status 1; it printed last: agent');
  send(line("no such interpreter", "kernel"));
  expect(log()).toBe("no such interpreter");
  refuse("");
  expect(isOpen()).toBe(false);
});

test("another process is told apart, and after a lost connection all is had again, once", () => {
  vi.useFakeTimers();
  draw();
  fireEvent.click(toggle());
  send(line("before", "agent", 1));
  send(line("after", "agent", 3));
  expect(log()).toMatch(/^beforeAnother agent, \d\d:\d\d:\d\dafter$/);
  act(() => FakeSocket.newest().end(1006));
  expect(screen.getByText(/not connected/)).toBeTruthy();
  const lost = FakeSocket.newest();
  act(() => vi.advanceTimersByTime(300));
  expect(FakeSocket.newest()).not.toBe(lost);
  act(() => FakeSocket.newest().open());
  send(line("after", "agent", 3));
  expect(log()).toBe("after");
  expect(screen.queryByText(/not connected/)).toBeNull();
});

test("whatever the server says, it is drawn, and no more than is bearable", () => {
  draw();
  fireEvent.click(toggle());
  act(() => FakeSocket.newest().onmessage?.({ data: "{" }));
  for (const odd of [
    null,
    7,
    [],
    { lines: 7 },
    { lines: [null, { name: "toString", text: "x" }, line(7), line(null)] },
  ]) {
    act(() => FakeSocket.newest().send(odd));
  }
  expect(log()).toBe("");
  send(...Array.from({ length: 5000 }, (_, at) => line(`line ${at}\u202e`)));
  expect(log()).toContain("line 4999");
  expect(log()).not.toContain("line 3999");
});
