import { afterEach, beforeEach, vi } from "vitest";
import { setToken } from "../api/client";
import type { OutgoingMessage as Message, NotebookStateMessage } from "../protocol/messages";
import type { WireCell } from "../protocol/wire.gen";
import { type Answers, fakeServer, socketAt } from "./fakeServer";
import { LiveSession } from "./liveSession";
import type { Role, SessionSnapshot } from "./sessionSnapshot";

const config = {
  eval_sandbox: true,
  default_session: "default",
  version: "",
  console: true,
  console_role: "view",
  cases: false,
} as const;
/** The first message at /run. */
export const ready = {
  type: "ready",
  connection_idx: 7,
  session_owner: true,
  kernel_status: "running",
  kernel_pid: 99,
  language: "python",
};
/** Returns a cell as messages have it. */
export const cell = (id: string, source = id, rev = 1): WireCell => ({
  cell_id: id,
  cell_type: "code",
  source,
  display_name: "",
  rev,
});

/** Returns the first message to a view. */
export function stateOf(seq: number, cells: WireCell[], runs: Partial<NotebookStateMessage["runs"]> = {}): Message {
  const none = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };
  return { type: "notebook_state", seq, cells, runs: { ...none, ...runs } };
}

let session: LiveSession | null = null;

/** Advances time by ms and lets promises settle. */
export async function advance(ms = 300): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Opens the page. The API answers with these answers. Returns the requests to the API. */
export async function openPage(role: Role = "view", answers: Answers = {}, sandbox = true): Promise<URL[]> {
  const requests = fakeServer(answers);
  await loadPage(role, sandbox);
  return requests;
}

/** Opens the page, or reloads it. */
export async function loadPage(role: Role = "view", sandbox = true): Promise<void> {
  session?.stop();
  session = new LiveSession({ ...config, eval_sandbox: sandbox }, "s1", role);
  session.start();
  if (role === "holder") await import("./holder"); // LiveSession imports it too; fake timers do not wait for imports
  await advance();
}

/** Reloads the page and leaves it before it has started. */
export function loadAndLeave(): void {
  session = new LiveSession(config, "s1", "view");
  session.start();
  session.stop();
}

/** Leaves the page. */
export function leavePage(): void {
  session?.stop();
}

/** Lets the server accept both connections. */
export async function connect(state = stateOf(10, [cell("a"), cell("b")])): Promise<void> {
  socketAt("/run").open();
  socketAt("/run").receive(ready);
  socketAt("/agent").open();
  socketAt("/agent").receive(state);
  await advance();
}

export function live(): SessionSnapshot {
  if (session === null) throw new Error("the page was not loaded");
  return session.snapshot();
}

/** Returns the user's commands. */
export const commands = () => {
  const found = live().commands;
  if (found === null) throw new Error("there are no commands");
  return found;
};
/** Returns the cells of the page's state, by id. */
export const cells = () => live().store.get().notebook.cells;
/** Returns the executions of the page's state, by cell id. */
export const executions = () => live().store.get().notebook.executions;
/** Returns the texts of the notices. */
export const noticeTexts = () => live().notices.map(({ text }) => text);
/** Returns the notebook_actions that were sent since the last connection. */
export const actions = () => socketAt("/agent").sentOf("notebook_action");

/** Answers the newest action. */
export async function answerAction(fields: Record<string, unknown>, events: Message[] = []): Promise<void> {
  const action = actions().at(-1);
  socketAt("/agent").receive(...events, {
    type: "notebook_action_response",
    tx_id: action?.tx_id ?? "",
    status: "success",
    ...fields,
  });
  await advance();
}

/** Returns a cell_edited event. */
export function edited(id: string, source: string, rev: number, seq: number, by = "console"): Message {
  return { type: "notebook_event", event: "cell_edited", cell_id: id, source, rev, by, seq };
}

/** Makes each test of a file start with an empty page. Call once per file. */
export function startEachTestEmpty(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    sessionStorage.clear();
    vi.spyOn(console, "info").mockImplementation(() => undefined);
  });

  afterEach(() => {
    leavePage();
    session = null;
    setToken(null);
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}
