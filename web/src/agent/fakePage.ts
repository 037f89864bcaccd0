import { afterEach, beforeEach, vi } from "vitest";
import { setToken } from "../api/client";
import type { OutgoingMessage as Message, NotebookStateMessage } from "../protocol/messages";
import type { WireCell } from "../protocol/wire.gen";
import { type ApiAnswers, fakeServer, socketAt } from "./fakeServer";
import { LiveSession } from "./liveSession";
import type { ConsoleRole, SessionSnapshot } from "./sessionSnapshot";

/** The server's configuration that the page is started with. */
const publicConfig = {
  eval_sandbox: true,
  default_session: "default",
  version: "",
  console: true,
  console_role: "view",
  cases: false,
} as const;
/** The first message of the server at /run. */
export const readyMessage = {
  type: "ready",
  connection_idx: 7,
  session_owner: true,
  kernel_status: "running",
  kernel_pid: 99,
  language: "python",
};
/** Returns a cell in the format of messages. */
export const wireCell = (id: string, source = id, rev = 1): WireCell => ({
  cell_id: id,
  cell_type: "code",
  source,
  display_name: "",
  rev,
});

/** Returns a notebook_state message, the first one that a view receives at /agent. */
export function notebookStateFromServer(
  seq: number,
  cells: WireCell[],
  runs: Partial<NotebookStateMessage["runs"]> = {},
): Message {
  const none = { cell_status: {}, cell_sequencers: {}, cell_outputs: {}, run_queue: [], cell_widgets: {} };
  return { type: "notebook_state", seq, cells, runs: { ...none, ...runs } };
}

let currentLiveSession: LiveSession | null = null;

/** Advances fake time by ms milliseconds and lets promises settle. */
export async function advanceTimers(ms = 300): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Opens the page with a fake API that gives these answers. Resolves to the list of requests to the API. */
export async function openPage(role: ConsoleRole = "view", answers: ApiAnswers = {}, sandbox = true): Promise<URL[]> {
  const requests = fakeServer(answers);
  await loadPage(role, sandbox);
  return requests;
}

/** Opens the page, or reloads it if it is open, in sandbox mode unless sandbox is false. */
export async function loadPage(role: ConsoleRole = "view", sandbox = true): Promise<void> {
  currentLiveSession?.stop();
  currentLiveSession = new LiveSession({ ...publicConfig, eval_sandbox: sandbox }, "s1", role);
  currentLiveSession.start();
  if (role === "holder") await import("./holder"); // LiveSession imports it too; fake timers do not wait for imports
  await advanceTimers();
}

/** Reloads the page and closes it before it has started. */
export function reloadAndLeavePage(): void {
  currentLiveSession = new LiveSession(publicConfig, "s1", "view");
  currentLiveSession.start();
  currentLiveSession.stop();
}

/** Closes the page. */
export function leavePage(): void {
  currentLiveSession?.stop();
}

/**
 * Makes the fake server accept both connections and send their first messages; state is the one at
 * /agent.
 */
export async function acceptConnections(
  state = notebookStateFromServer(10, [wireCell("a"), wireCell("b")]),
): Promise<void> {
  socketAt("/run").open();
  socketAt("/run").receive(readyMessage);
  socketAt("/agent").open();
  socketAt("/agent").receive(state);
  await advanceTimers();
}

/** Returns the current snapshot of the page's session. Throws if the page was not opened. */
export function sessionSnapshot(): SessionSnapshot {
  if (currentLiveSession === null) throw new Error("the page was not loaded");
  return currentLiveSession.snapshot();
}

/** Returns the user's commands of the page. Throws if there are none. */
export const userCommands = () => {
  const found = sessionSnapshot().commands;
  if (found === null) throw new Error("there are no commands");
  return found;
};
/** Returns the cells of the page's notebook, by id. */
export const cellsById = () => sessionSnapshot().store.get().notebook.cells;
/** Returns the executions of the page's notebook, by cell id. */
export const executionsByCell = () => sessionSnapshot().store.get().notebook.executions;
/** Returns the texts of the page's notices. */
export const noticeTexts = () => sessionSnapshot().notices.map(({ text }) => text);
/** Returns the notebook_actions that the page has sent over the current connection. */
export const sentNotebookActions = () => socketAt("/agent").sentOf("notebook_action");

/** Sends the events and then the response to the newest notebook_action, with these fields. */
export async function answerNewestNotebookAction(
  fields: Record<string, unknown>,
  events: Message[] = [],
): Promise<void> {
  const action = sentNotebookActions().at(-1);
  socketAt("/agent").receive(...events, {
    type: "notebook_action_response",
    tx_id: action?.tx_id ?? "",
    status: "success",
    ...fields,
  });
  await advanceTimers();
}

/** Returns a cell_edited event of the notebook. */
export function cellEditedEvent(id: string, source: string, rev: number, seq: number, by = "console"): Message {
  return { type: "notebook_event", event: "cell_edited", cell_id: id, source, rev, by, seq };
}

/** Makes every test of a file start without a page and with empty storage. Call it once per file. */
export function resetPageAroundTests(): void {
  beforeEach(() => {
    vi.useFakeTimers();
    sessionStorage.clear();
    vi.spyOn(console, "info").mockImplementation(() => undefined);
  });

  afterEach(() => {
    leavePage();
    currentLiveSession = null;
    setToken(null);
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
}
