import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SessionSnapshot } from "../agent/sessionSnapshot";
import { fakeCommands } from "../agentPanel/fakeCommands";
import type { Config } from "../api/config";
import type { Commands } from "../commands/commands";
import type { NavigationRequest } from "../commands/navigation";
import { messageFromJSON } from "../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../protocol/messages";
import { createStore, StoreProvider } from "../store/store";
import { type PersonParts, Workbench } from "./Workbench";

const publicConfig: Config = {
  eval_sandbox: true,
  default_session: "default",
  version: "1",
  console: true,
  console_role: "view",
  cases: false,
};

vi.mock("../notebook/Notebook", async () => {
  const { useEffect } = await import("react");
  const { useCommands } = await import("../commands/commands");
  const { useNotebookNavigation } = await import("../commands/navigation");
  return {
    Notebook() {
      const { onRequest } = useNotebookNavigation();
      useEffect(() => onRequest((request) => navigationRequests.push(request)), [onRequest]);
      return (
        <>
          <p>the notebook</p>
          <p>{useCommands()?.addProblem ?? "cells can be added"}</p>
        </>
      );
    },
  };
});
vi.mock("../api/config", () => ({ useConfig: () => publicConfig }));
vi.mock("../agentPanel/AgentPanel", () => ({ AgentPanel: () => <textarea aria-label="Ask the agent" /> }));
vi.mock("../variables/Variables", () => ({ Variables: () => <p>the variables</p> }));
vi.mock("../variables/ReactiveGraph", () => ({
  default: () => {
    throw new Error("no graph today");
  },
}));

let isWideScreen = true;
const navigationRequests: NavigationRequest[] = [];

beforeEach(() => {
  isWideScreen = true;
  navigationRequests.length = 0;
  localStorage.clear();
  vi.stubGlobal("innerWidth", 1280);
  vi.stubGlobal("matchMedia", () => ({
    matches: !isWideScreen,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const openConnection = { state: "connected" as const, code: null, reason: "", retryAt: null, retry: () => undefined };

function renderWorkbench(
  more: Partial<SessionSnapshot> = {},
  commands = fakeCommands(),
  person: PersonParts | null = null,
) {
  const store = createStore();
  const live: SessionSnapshot = {
    store,
    commands,
    connection: openConnection,
    phase: null,
    needsToken: false,
    tokenRefusal: null,
    submitToken: vi.fn(),
    role: "view",
    isOwner: true,
    language: "python",
    kernelPid: 7,
    conflicts: {},
    notices: [],
    dismiss: vi.fn(),
    ...more,
  };
  const page = (state: SessionSnapshot, parts = person) => (
    <StoreProvider value={store}>
      <Workbench live={state} session="default" person={parts} />
    </StoreProvider>
  );
  const { rerender } = render(page(live));
  let seq = 0;
  const tell = (hop: Hop, ...messages: OutgoingMessage[]) =>
    act(async () => store.apply(messages.map((msg) => ({ seq: ++seq, hop, msg: messageFromJSON(msg) }))));
  return {
    store,
    commands,
    live,
    tell,
    change: (next: Partial<SessionSnapshot>) => rerender(page({ ...live, ...next })),
    changePerson: (parts: PersonParts) => rerender(page(live, parts)),
  };
}

const cellCreatedMessage = (id: string, type: string, position: number, source = "x"): OutgoingMessage => ({
  type: "notebook_event",
  event: "cell_created",
  cell: { cell_id: id, cell_type: type, source, display_name: "", rev: 1 },
  position,
});
const getButton = (name: string | RegExp) => screen.getByRole<HTMLButtonElement>("button", { name });

const fourCells = [
  cellCreatedMessage("a", "code", 0),
  cellCreatedMessage("b", "markdown", 1),
  cellCreatedMessage("c", "code", 2),
  cellCreatedMessage("d", "code", 3, " "),
];
const idsOfRunCells = (commands: Commands) => vi.mocked(commands.runCell).mock.calls.map(([id]) => id);
/** Returns the messages of one run of a cell. */
const runMessages = (cell_id: string, run_sequencer: number, status = "ok"): OutgoingMessage[] => [
  { type: "start_cell", cell_id, run_sequencer },
  { type: "cell_result", cell_id, run_sequencer, status },
];

test("Run all runs all code cells in order, also empty ones, whose edits may not be saved yet", async () => {
  const { commands, tell } = renderWorkbench();
  expect(getButton("Run all").disabled).toBe(true);
  await tell("notebook", ...fourCells);
  fireEvent.click(getButton("Run all"));
  expect(idsOfRunCells(commands)).toEqual(["a"]);
  expect(getButton("Running 1 of 3").disabled).toBe(true);
  await tell("server>kernel", { type: "run_cell", cell_id: "a", code: "x" });
  await tell("kernel>server", { type: "start_cell", cell_id: "a", run_sequencer: 1 });
  expect(idsOfRunCells(commands)).toEqual(["a"]);
  await tell("kernel>server", { type: "cell_result", cell_id: "a", run_sequencer: 1, status: "ok" });
  expect(idsOfRunCells(commands)).toEqual(["a", "c"]);
  await tell("kernel>server", ...runMessages("c", 2));
  await tell("kernel>server", ...runMessages("d", 3));
  expect(idsOfRunCells(commands)).toEqual(["a", "c", "d"]);
  expect(getButton("Run all").disabled).toBe(false);
  expect(screen.queryByRole("img", { name: "Error" })).toBeNull();
});

test("the notebook gets the reason why no cell can be added", async () => {
  const { tell } = renderWorkbench();
  expect(screen.getByText("cells can be added")).toBeTruthy();
  await tell("server>console", { type: "eval_result", outcome: "completed" });
  expect(screen.getByText(/^The attempt has ended/)).toBeTruthy();
  cleanup();
  const holder = renderWorkbench({ role: "holder" });
  await holder.tell("server>console", { type: "eval_result", outcome: "completed" });
  expect(screen.getByText("cells can be added")).toBeTruthy();
});

test.each([
  ["error", "Run all stopped at cell 1, which raised an error. The 2 cells after it did not run."],
  ["interrupted", "Run all stopped at cell 1, which was interrupted. The 2 cells after it did not run."],
])("the first cell that ends with %s is the last that is run", async (status, told) => {
  const { commands, tell } = renderWorkbench();
  await tell("notebook", ...fourCells);
  fireEvent.click(getButton("Run all"));
  await tell("kernel>server", ...runMessages("a", 1, status));
  expect(idsOfRunCells(commands)).toEqual(["a"]);
  expect(screen.getByText(told)).toBeTruthy();
  await tell("kernel>server", ...runMessages("a", 2));
  expect(idsOfRunCells(commands)).toEqual(["a"]);
  fireEvent.click(getButton("Run all"));
  expect(idsOfRunCells(commands)).toEqual(["a", "a"]);
});

test("Run all ends when the kernel ends, the connection is lost, or Stop is pressed", async () => {
  const { commands, tell, change } = renderWorkbench();
  await tell("notebook", ...fourCells);
  fireEvent.click(getButton("Run all"));
  await tell("server>kernel", { type: "run_cell", cell_id: "a", code: "x" });
  await tell("session", { type: "managed_process_exit", name: "kernel" });
  expect(screen.getByText(/stopped at cell 1, because the kernel ended/)).toBeTruthy();
  await tell("kernel>server", { type: "ready" });
  fireEvent.click(getButton("Run all"));
  fireEvent.click(getButton("Stop"));
  await tell("kernel>server", ...runMessages("a", 1));
  expect(idsOfRunCells(commands)).toEqual(["a", "a"]);
  fireEvent.click(getButton("Run all"));
  change({ connection: { ...openConnection, state: "disconnected", code: 1006, retryAt: 1 } });
  expect(screen.getByText(/stopped after cell 1 of 3. There is no connection/)).toBeTruthy();
  await tell("kernel>server", ...runMessages("a", 2));
  expect(idsOfRunCells(commands)).toEqual(["a", "a", "a"]);
});

test("Run all skips a deleted cell and stops at a cell that does not start", async () => {
  vi.useFakeTimers();
  try {
    const { commands, tell } = renderWorkbench();
    await tell("notebook", ...fourCells);
    fireEvent.click(getButton("Run all"));
    await tell("notebook", { type: "notebook_event", event: "cell_deleted", cell_id: "a" });
    expect(idsOfRunCells(commands)).toEqual(["a", "c"]);
    act(() => vi.advanceTimersByTime(20_000));
    expect(screen.getByText(/stopped at cell 2, which did not start. The cell after it did not/)).toBeTruthy();
    await tell("kernel>server", ...runMessages("c", 1));
    expect(idsOfRunCells(commands)).toEqual(["a", "c"]);
  } finally {
    vi.useRealTimers();
  }
});

test("Stop stops the running and queued cells, the last first", async () => {
  const { commands, tell } = renderWorkbench();
  await tell("notebook", cellCreatedMessage("a", "code", 0), cellCreatedMessage("b", "code", 1));
  expect(getButton("Stop").disabled).toBe(true);
  await tell(
    "server>kernel",
    { type: "run_cell", cell_id: "a", code: "x" },
    { type: "run_cell", cell_id: "b", code: "x" },
  );
  expect(document.title).toBe("● running – Assay");
  fireEvent.click(getButton("Stop"));
  expect(vi.mocked(commands.stopCell).mock.calls).toEqual([["b"], ["a"]]);
});

test("a warning is shown while the kernel does not react to a stop request", async () => {
  vi.useFakeTimers();
  try {
    const { commands, tell } = renderWorkbench();
    const sent = (cell_id: string) => tell("server>kernel", { type: "run_cell", cell_id, code: "x" });
    await tell("notebook", cellCreatedMessage("a", "code", 0), cellCreatedMessage("b", "code", 1));
    await tell("kernel>server", { type: "ready" });
    await sent("a");
    fireEvent.click(getButton("Stop"));
    act(() => vi.advanceTimersByTime(6999));
    expect(screen.queryByRole("alert")).toBeNull();
    act(() => vi.advanceTimersByTime(1));
    expect(screen.getByRole("alert").textContent).toContain("The kernel does not respond.");
    expect(screen.getByText("not responding")).toBeTruthy();
    fireEvent.click(within(screen.getByRole("alert")).getByRole("button"));
    expect(commands.restart).toHaveBeenCalledExactlyOnceWith("kernel");
    await tell("kernel>server", { type: "start_cell", cell_id: "a", run_sequencer: 1 });
    expect(screen.queryByRole("alert")).toBeNull();
    await sent("b");
    fireEvent.click(getButton("Stop"));
    await tell("kernel>server", { type: "cell_result", cell_id: "a", run_sequencer: 1, status: "interrupted" });
    await tell("kernel>server", { type: "start_cell", cell_id: "b", run_sequencer: 2 });
    act(() => vi.advanceTimersByTime(7000));
    expect(screen.queryByRole("alert")).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

test("a cell queued behind a running one is not expected to stop at once", async () => {
  vi.useFakeTimers();
  try {
    const { commands, tell } = renderWorkbench();
    await tell("notebook", cellCreatedMessage("a", "code", 0), cellCreatedMessage("b", "code", 1));
    await tell("server>kernel", { type: "run_cell", cell_id: "b", code: "x" });
    fireEvent.click(getButton("Stop"));
    expect(commands.stopCell).toHaveBeenCalledExactlyOnceWith("b");
    await tell("kernel>server", { type: "start_cell", cell_id: "a", run_sequencer: 1 });
    act(() => vi.advanceTimersByTime(7000));
    expect(screen.queryByRole("alert")).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});

test("restarting a live kernel asks for confirmation, restarting a dead one does not", async () => {
  const { commands, store } = renderWorkbench();
  fireEvent.click(getButton("Restart kernel"));
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Cancel" }));
  expect(commands.restart).not.toHaveBeenCalled();
  await act(async () => store.update((state) => ({ ...state, notebook: { ...state.notebook, kernel: "dead" } })));
  expect(document.title).toBe("○ kernel dead – Assay");
  fireEvent.click(getButton("Restart kernel"));
  expect(commands.restart).toHaveBeenCalledExactlyOnceWith("kernel");
});

test("the add buttons ask the notebook to add a cell", () => {
  renderWorkbench();
  fireEvent.click(getButton("Markdown"));
  fireEvent.click(getButton("Code"));
  expect(navigationRequests).toEqual([{ add: "markdown" }, { add: "code" }]);
});

test("dismissing a notice of the session is passed to the session", () => {
  const dismiss = vi.fn();
  const notices = [1, 2, 3, 4].map((id) => ({ id, kind: "info" as const, text: `notice ${id}` }));
  renderWorkbench({ notices, dismiss });
  expect(screen.queryByText("notice 1")).toBeNull();
  fireEvent.click(screen.getAllByRole("button", { name: "Dismiss" })[0] as HTMLElement);
  expect(dismiss).toHaveBeenLastCalledWith(2);
  fireEvent.click(getButton(/1 older/));
  expect(dismiss).toHaveBeenCalledTimes(5);
});

test("a console that does not own the session shows a dismissible notice, and disabled buttons say why", async () => {
  const { tell } = renderWorkbench({ isOwner: false });
  await tell("notebook", cellCreatedMessage("a", "code", 0));
  expect(screen.getByText(/Only that console can run cells/)).toBeTruthy();
  expect(getButton("Run all").disabled).toBe(true);
  expect(getButton("Run all").title).toContain("Another console owns this session.");
  fireEvent.click(getButton("Dismiss"));
  expect(screen.queryByText(/Only that console can run cells/)).toBeNull();
});

test("after a verdict no cell can run or be added, but the kernel can be restarted", async () => {
  const { tell } = renderWorkbench();
  await tell("notebook", cellCreatedMessage("a", "code", 0));
  expect(getButton("Run all").disabled).toBe(false);
  await tell("server>console", { type: "eval_result", case_id: "a", outcome: "completed", passed: true, graders: [] });
  for (const name of ["Run all", "Code", "Markdown"]) {
    expect(getButton(name).disabled).toBe(true);
    expect(getButton(name).title).toContain("The attempt has ended.");
  }
  expect(getButton("Restart kernel").disabled).toBe(false);
});

test("the session's phase is shown until the notebook is loaded", () => {
  const { change } = renderWorkbench({ connection: { ...openConnection, state: "disconnected" }, phase: "starting" });
  expect(screen.getByText(/Starting the kernel and the agent/)).toBeTruthy();
  expect(screen.queryByText("the notebook")).toBeNull();
  change({ phase: "running", connection: { ...openConnection, state: "connected" } });
  expect(screen.getByText("the notebook")).toBeTruthy();
});

test("a refused holder shows no notebook, and no cell can be added", async () => {
  const { tell } = renderWorkbench({
    role: "holder",
    connection: { ...openConnection, state: "disconnected", code: 4009 },
  });
  await tell("session", { type: "state", state: "ready" });
  expect(screen.getByText("Nothing to show.")).toBeTruthy();
  expect(screen.queryByText("the notebook")).toBeNull();
  expect(screen.queryByText("holds the notebook")).toBeNull();
  expect(screen.queryByText("starting")).toBeNull();
  expect(screen.queryByRole("button", { name: "Try now" })).toBeNull();
  expect(screen.getByRole("link", { name: "Open it as a view" })).toBeTruthy();
  expect(getButton("Code").disabled).toBe(true);
});

test("a holder without connection can still add cells", async () => {
  const { tell, change } = renderWorkbench({ role: "holder" });
  await tell("notebook", cellCreatedMessage("a", "code", 0));
  change({ role: "holder", connection: { ...openConnection, state: "disconnected", code: 1006 } });
  expect(screen.getByText("holds the notebook")).toBeTruthy();
  expect(getButton("Code").disabled).toBe(false);
  expect(getButton("Run all").disabled).toBe(true);
});

test("a loaded notebook stays when the connection is lost", async () => {
  const { tell, change } = renderWorkbench();
  await tell("notebook", cellCreatedMessage("a", "code", 0));
  change({ connection: { ...openConnection, state: "disconnected", code: 1006 } });
  expect(screen.getByText("the notebook")).toBeTruthy();
  expect(document.title).toBe("○ disconnected – Assay");
});

test("the agent's tab keeps its draft while another tab is shown, and the current tab is remembered", async () => {
  renderWorkbench();
  fireEvent.change(await screen.findByLabelText("Ask the agent"), { target: { value: "half" } });
  expect(screen.queryByText("the variables")).toBeNull();
  fireEvent.click(screen.getByRole("tab", { name: "Variables" }));
  expect(await screen.findByText("the variables")).toBeTruthy();
  fireEvent.click(getButton("Close the panel"));
  fireEvent.click(getButton("Open the panel"));
  fireEvent.click(screen.getByRole("tab", { name: "Agent" }));
  expect(screen.getByLabelText<HTMLTextAreaElement>("Ask the agent").value).toBe("half");
  fireEvent.click(screen.getByRole("tab", { name: "Variables" }));
  cleanup();
  renderWorkbench();
  expect(screen.getByRole("tab", { name: "Variables" }).getAttribute("aria-selected")).toBe("true");
});

test("an error in one tab does not affect the others", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  renderWorkbench();
  fireEvent.click(screen.getByRole("tab", { name: "Graph" }));
  expect((await screen.findByRole("alert")).textContent).toContain("The graph could not be shown");
  expect(screen.getByText("the notebook")).toBeTruthy();
});

test("keys change the panel's width within its limits, and it is remembered", () => {
  renderWorkbench();
  const line = screen.getByRole("separator");
  fireEvent.keyDown(line, { key: "ArrowLeft" });
  expect(line.getAttribute("aria-valuenow")).toBe("444");
  fireEvent.keyDown(line, { key: "Home" });
  fireEvent.keyDown(line, { key: "ArrowRight" });
  expect(line.getAttribute("aria-valuenow")).toBe("280");
  cleanup();
  renderWorkbench();
  expect(screen.getByRole("separator").getAttribute("aria-valuenow")).toBe("280");
});

test("in a small window the panel is initially narrower than half of it", () => {
  vi.stubGlobal("innerWidth", 800);
  renderWorkbench();
  expect(screen.getByRole("separator").getAttribute("aria-valuenow")).toBe("320");
});

test("a notice says that outputs are of an earlier kernel, until it is dismissed", async () => {
  const { tell, change } = renderWorkbench();
  const output = { output_type: "stream", name: "stdout", text: "1" };
  await tell("notebook", cellCreatedMessage("a", "code", 0));
  await tell("server>kernel", { type: "run_cell", cell_id: "a", code: "x" });
  await tell(
    "kernel>server",
    { type: "start_cell", cell_id: "a", run_sequencer: 1 },
    { type: "cell_output", cell_id: "a", run_sequencer: 1, output },
    { type: "cell_result", cell_id: "a", run_sequencer: 1, status: "ok" },
  );
  const ready = { type: "ready", kernel_status: "running" };
  await tell("server>console", ready);
  expect(screen.queryByText("The kernel was replaced.")).toBeNull();
  await tell("server>console", { type: "managed_process_exit", name: "kernel", exit_code: 1 }, ready);
  expect(screen.getByText("The kernel was replaced.")).toBeTruthy();
  fireEvent.click(getButton("Dismiss"));
  expect(screen.queryByText("The kernel was replaced.")).toBeNull();
  change({ kernelPid: 8 });
  expect(screen.getByText("The kernel was replaced.")).toBeTruthy();
  await tell("kernel>server", { type: "start_cell", cell_id: "a", run_sequencer: 1 });
  expect(screen.queryByText("The kernel was replaced.")).toBeNull();
});

test("invalid stored settings are ignored", () => {
  localStorage.setItem("assay.console.panel.width", '"wide"');
  localStorage.setItem("assay.console.tab", "{");
  renderWorkbench();
  expect(screen.getByRole("separator").getAttribute("aria-valuenow")).toBe("420");
  expect(screen.getByRole("tab", { name: "Agent" }).getAttribute("aria-selected")).toBe("true");
});

test("in a narrow window the panel covers the notebook and takes the focus, and Esc returns it", () => {
  isWideScreen = false;
  renderWorkbench();
  expect(screen.queryByRole("tab", { name: "Agent" })).toBeNull();
  const open = getButton("Open the panel");
  open.focus();
  fireEvent.click(open);
  const panel = screen.getByRole("complementary", { name: "Panel" });
  expect(document.activeElement).toBe(panel);
  expect(screen.queryByRole("separator")).toBeNull();
  fireEvent.keyDown(panel, { key: "Escape" });
  expect(screen.queryByRole("tab", { name: "Agent" })).toBeNull();
  expect(document.activeElement).toBe(open);
});

test("the tab's title shows the verdict and what the agent is doing", async () => {
  const { tell } = renderWorkbench();
  expect(document.title).toBe("default – Assay");
  await tell("agent>server", { type: "agent_status", status: "thinking" });
  expect(document.title).toBe("● agent thinking – Assay");
  await tell("server>console", { type: "eval_result", case_id: "a", outcome: "completed", passed: false, graders: [] });
  expect(document.title).toBe("failed – Assay");
});

test.each([true, false])("a person's parts replace those of an agent (wide window: %s)", async (isWide) => {
  isWideScreen = isWide;
  const person: PersonParts = {
    standsStill: "Not now.",
    cover: <p>the cover</p>,
    panel: <p>the task</p>,
    isPanelFirst: true,
    bar: (open) => (
      <button type="button" onClick={open}>
        Task and answer
      </button>
    ),
  };
  renderWorkbench({}, fakeCommands(), person);
  expect(screen.getByText("the cover")).toBeTruthy();
  expect(screen.queryByText("the notebook")).toBeNull();
  expect(getButton("Code").disabled).toBe(true);
  expect(getButton("Code").title).toContain("Not now.");
  expect(screen.queryByText("Agent:")).toBeNull();
  expect(screen.getByRole("tab", { name: "Task" })).toBeTruthy();
  expect(await screen.findByText("the task")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Task and answer" })).toBeNull();
  fireEvent.click(screen.getAllByRole("button", { name: "Close the panel" })[0] as HTMLElement);
  fireEvent.click(getButton("Task and answer"));
  expect(screen.queryByRole("button", { name: "Task and answer" })).toBeNull();
});

test("the task is shown when the work begins and by the bar's button, whatever tab was shown last", async () => {
  localStorage.setItem("assay.console.tab", '"variables"');
  const person = (isPanelFirst: boolean): PersonParts => ({
    standsStill: null,
    cover: null,
    panel: <p>the task</p>,
    isPanelFirst,
    bar: (onOpen) => (
      <button type="button" onClick={onOpen}>
        Task and answer
      </button>
    ),
  });
  const { changePerson } = renderWorkbench({}, fakeCommands(), person(false));
  const selectedTab = () => screen.getByRole("tab", { selected: true }).textContent;
  expect(selectedTab()).toBe("Variables");
  changePerson(person(true));
  expect(selectedTab()).toBe("Task");
  fireEvent.click(screen.getByRole("tab", { name: "Variables" }));
  expect(await screen.findByText("the variables")).toBeTruthy();
  fireEvent.click(screen.getAllByRole("button", { name: "Close the panel" })[0] as HTMLElement);
  fireEvent.click(getButton("Task and answer"));
  expect(selectedTab()).toBe("Task");
  expect(localStorage.getItem("assay.console.tab")).toBe('"agent"');
});
