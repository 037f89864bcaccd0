import { afterEach, beforeEach, vi } from "vitest";
import { setToken } from "../api/client";
import type { Message, NotebookStateMessage, WireCell } from "../protocol/messages";
import { type Answers, fakeServer, socketAt } from "./fakeServer";
import type { Live, Role } from "./live";
import { LiveSession } from "./liveSession";

const config = {
  eval_sandbox: true,
  default_session: "default",
  version: "",
  console: true,
  console_role: "view",
  cases: false,
} as const;
/** What /run says first. */
export const ready = {
  type: "ready",
  connection_idx: 7,
  session_owner: true,
  kernel_status: "running",
  kernel_pid: 99,
  language: "python",
};
/** A cell on the wire. */
export const cell = (id: string, source = id, rev = 1): WireCell => ({
  cell_id: id,
  cell_type: "code",
  source,
  display_name: "",
  rev,
});

/** What a view is told first. */
export function stateOf(seq: number, cells: WireCell[], runs: Partial<NotebookStateMessage["runs"]> = {}): Message {
  const none = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };
  return { type: "notebook_state", seq, cells, runs: { ...none, ...runs } };
}

let session: LiveSession | null = null;

/** Lets promises and everything that is due within ms happen. */
export async function pass(ms = 300): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Loads the page where the API answers like this. */
export async function begin(role: Role = "view", answers: Answers = {}, sandbox = true): Promise<URL[]> {
  const asked = fakeServer(answers);
  await load(role, sandbox);
  return asked;
}

/** Loads the page; again, when it is there. */
export async function load(role: Role = "view", sandbox = true): Promise<void> {
  session?.stop();
  session = new LiveSession({ ...config, eval_sandbox: sandbox }, "s1", role);
  session.start();
  if (role === "holder") await import("./holder"); // as the session does: timers are not for it to wait for
  await pass();
}

/** Loads the page again, and leaves it before it has begun. */
export function glance(): void {
  session = new LiveSession(config, "s1", "view");
  session.start();
  session.stop();
}

/** Leaves the page. */
export function leave(): void {
  session?.stop();
}

/** Lets the page in. */
export async function connect(state = stateOf(10, [cell("a"), cell("b")])): Promise<void> {
  socketAt("/run").open();
  socketAt("/run").says(ready);
  socketAt("/agent").open();
  socketAt("/agent").says(state);
  await pass();
}

export function live(): Live {
  if (session === null) throw new Error("the page was not loaded");
  return session.snapshot();
}

/** What a person may do. */
export const commands = () => {
  const found = live().commands;
  if (found === null) throw new Error("there are no commands");
  return found;
};
/** The cells by id, as the page has them. */
export const cells = () => live().store.get().notebook.cells;
/** Their runs. */
export const runs = () => live().store.get().notebook.runs;
/** The texts of the notices. */
export const texts = () => live().notices.map(({ text }) => text);
/** The notebook_actions that were sent since the last connection. */
export const actions = () => socketAt("/agent").sentOf("notebook_action");

/** The server's answer to the newest action. */
export async function answer(fields: Record<string, unknown>, events: Message[] = []): Promise<void> {
  const action = actions().at(-1);
  socketAt("/agent").says(...events, {
    type: "notebook_action_response",
    tx_id: action?.tx_id,
    status: "success",
    ...fields,
  });
  await pass();
}

/** The event of an edit. */
export function edited(id: string, source: string, rev: number, seq: number, by = "console"): Message {
  return { type: "notebook_event", event: "cell_edited", cell_id: id, source, rev, by, seq };
}

/** To be called once by each file of tests: before each test nothing is there. */
export function eachTestOnAnEmptyPage(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    sessionStorage.clear();
    vi.spyOn(console, "info").mockImplementation(() => undefined);
  });

  afterEach(() => {
    leave();
    session = null;
    setToken(null);
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}
