import { act, cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fakeCommands } from "../agentPanel/fakeCommands";
import type { Commands } from "../commands/commands";
import { CommandsProvider } from "../commands/commands";
import { messageFromJSON } from "../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../protocol/messages";
import { createStore, StoreProvider } from "../store/store";
import { PersonPanel } from "./PersonPanel";
import { StartView } from "./StartView";
import { TaskBar } from "./TaskBar";
import { usePersonWork } from "./usePersonWork";

const task = 'Add them up. Return this: <EVAL_ANSWER>{"total": <number>}</EVAL_ANSWER>';
const start = "2026-01-02T03:04:05Z";
let attempt: Record<string, unknown> | null;

beforeEach(() => {
  localStorage.clear();
  attempt = { case_id: "sum", task, files: ["data/a.csv"], epoch: 1, limits: { wall_s: 600 }, started: start };
  vi.stubGlobal("fetch", async (path: string) =>
    path === "/api/sessions/one"
      ? Response.json({ attempt, trace: "/runs/r/attempts/0001-sum-e1-t1/trace.jsonl" })
      : Response.json({ code: "not_found", text: "" }, { status: 404 }),
  );
  // happy-dom has no modal dialogs.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

interface Options {
  refusal?: string | null;
  connected?: boolean;
  commands?: Partial<Commands>;
}

/** Everything that a person sees of an attempt, as PersonWorkbench composes it. */
function Person({ refusal = null, connected = true, onStart }: Options & { onStart: () => void }) {
  const work = usePersonWork("one", connected, "ada");
  return (
    <>
      <p>{`${work.phase}: ${work.standsStill ?? "free"}`}</p>
      {work.phase === "waiting" && <StartView work={work} refusal={refusal} onStart={onStart} />}
      <TaskBar work={work} onOpen={() => undefined} />
      <PersonPanel session="one" work={work} refused="" refusal={refusal} canAttachCases={false} />
    </>
  );
}

async function renderPerson({ commands: overrides, ...options }: Options = {}) {
  const store = createStore();
  const commands = fakeCommands(overrides);
  const page = (props: Options) => (
    <StoreProvider value={store}>
      <CommandsProvider value={commands}>
        <Person {...props} onStart={commands.startAttempt} />
      </CommandsProvider>
    </StoreProvider>
  );
  const { rerender, unmount } = render(page(options));
  await act(async () => undefined);
  let seq = 0;
  const tell = (hop: Hop, ...messages: OutgoingMessage[]) =>
    act(async () => store.apply(messages.map((msg) => ({ seq: ++seq, hop, msg: messageFromJSON(msg) }))));
  return { commands, tell, unmount, change: (next: Options) => act(async () => rerender(page(next))) };
}

const answerBox = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Answer" });
const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const dialog = () => screen.getByRole("dialog");
const type = (value: string) => fireEvent.change(answerBox(), { target: { value } });

test("before the start the task is not shown, and Start sends the start once", async () => {
  attempt = { ...attempt, started: undefined };
  const { commands, tell } = await renderPerson();
  expect(screen.getByText("waiting: The attempt has not started: press Start.")).toBeTruthy();
  expect(document.body.textContent).not.toContain("Add them up");
  expect(screen.getByText("10:00")).toBeTruthy();
  expect(screen.getByText("ada")).toBeTruthy();
  fireEvent.click(button("Start"));
  fireEvent.click(button("Start"));
  expect(commands.startAttempt).toHaveBeenCalledOnce();
  attempt = { ...attempt, started: start };
  await tell("agent>server", { type: "agent_status", status: "awaiting_user_response" });
  expect(screen.getByText("working: free")).toBeTruthy();
  expect(screen.getByText(/Add them up/)).toBeTruthy();
  expect(screen.getByText("data/a.csv")).toBeTruthy();
});

test("Start is disabled with the reason", async () => {
  attempt = { ...attempt, started: undefined };
  await renderPerson({ refusal: "Another console owns this session." });
  expect(button("Start").disabled).toBe(true);
  expect(screen.getByText("Another console owns this session.")).toBeTruthy();
});

test("an invalid answer is explained, and a valid one is submitted after a question", async () => {
  const { commands } = await renderPerson();
  expect(answerBox().placeholder).toBe('{"total": <number>}');
  type("{'total': 45}");
  expect(screen.queryByRole("alert")).toBeNull();
  fireEvent.click(button("Submit…"));
  expect(screen.getByRole("alert").textContent).toContain("double quotes");
  expect(answerBox().getAttribute("aria-invalid")).toBe("true");
  type('{"total": 45}');
  expect(screen.queryByRole("alert")).toBeNull();
  fireEvent.keyDown(answerBox(), { key: "Enter" });
  expect(screen.queryByRole("dialog")).toBeNull();
  fireEvent.keyDown(answerBox(), { key: "Enter", ctrlKey: true });
  expect(dialog().textContent).toContain('{"total": 45}');
  expect(commands.submitAnswer).not.toHaveBeenCalled();
  fireEvent.click(within(dialog()).getByRole("button", { name: "Submit" }));
  expect(commands.submitAnswer).toHaveBeenCalledExactlyOnceWith('{"total": 45}');
});

test("a failed submission shows why and keeps the text", async () => {
  const submitAnswer = vi.fn(async () => {
    throw new Error("somebody else has changed it meanwhile");
  });
  await renderPerson({ commands: { submitAnswer } });
  type("45");
  fireEvent.click(button("Submit…"));
  await act(async () => fireEvent.click(within(dialog()).getByRole("button", { name: "Submit" })));
  expect(screen.getByRole("alert").textContent).toBe(
    "The answer was not submitted: somebody else has changed it meanwhile.",
  );
  expect(answerBox().value).toBe("45");
});

test("text is submitted as a JSON string", async () => {
  attempt = { ...attempt, task: "Name it." };
  const { commands } = await renderPerson();
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "Text" }).checked).toBe(true);
  type("Paris");
  fireEvent.click(button("Submit…"));
  fireEvent.click(within(dialog()).getByRole("button", { name: "Submit" }));
  expect(commands.submitAnswer).toHaveBeenCalledWith('"Paris"');
});

test("what was typed survives a reload, and is not offered in another attempt", async () => {
  const first = await renderPerson();
  type('{"total": 4');
  fireEvent.click(screen.getByRole("radio", { name: "Text" }));
  first.unmount();
  const second = await renderPerson();
  expect(answerBox().value).toBe('{"total": 4');
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "Text" }).checked).toBe(true);
  second.unmount();
  attempt = { ...attempt, started: "2026-01-02T04:00:00Z" };
  await renderPerson();
  expect(answerBox().value).toBe("");
});

test("nothing can be submitted while a cell runs or without a connection; the text stays", async () => {
  const { tell, change } = await renderPerson();
  type("1");
  const cell = { cell_id: "a", cell_type: "code", source: "1", display_name: "", rev: 1 };
  await tell("notebook", { type: "notebook_event", event: "cell_created", cell, position: 0 });
  await tell("kernel>server", { type: "start_cell", cell_id: "a", run_sequencer: 1 });
  expect(screen.getByText(/A cell is still running/)).toBeTruthy();
  expect(button("Submit…").disabled).toBe(true);
  await tell("kernel>server", { type: "cell_result", cell_id: "a", run_sequencer: 1, status: "ok" });
  expect(button("Submit…").disabled).toBe(false);
  await change({ connected: false, refusal: "There is no connection to the server." });
  expect(button("Submit…").disabled).toBe(true);
  expect(button("Give up…").disabled).toBe(true);
  expect(answerBox().value).toBe("1");
});

test("giving up asks first, and the work then stands still", async () => {
  const { commands, tell } = await renderPerson();
  fireEvent.click(button("Give up…"));
  fireEvent.click(within(dialog()).getByRole("button", { name: "Cancel" }));
  expect(commands.cancel).not.toHaveBeenCalled();
  fireEvent.click(button("Give up…"));
  fireEvent.click(within(dialog()).getByRole("button", { name: "Give up" }));
  expect(commands.cancel).toHaveBeenCalledOnce();
  await tell("agent>server", { type: "agent_status", status: "done" });
  expect(screen.getByText("working: Your work on this case has ended.")).toBeTruthy();
  expect(screen.queryByRole("textbox", { name: "Answer" })).toBeNull();
});

test("the verdict is shown in words about a person", async () => {
  const { tell } = await renderPerson();
  attempt = null;
  const verdict = { type: "eval_result", case_id: "sum", outcome: "completed", passed: false, score: 0, graders: [] };
  await tell("server>console", verdict);
  expect(screen.getByText("over: The attempt has ended.")).toBeTruthy();
  expect(screen.getByText("The person submitted an answer.")).toBeTruthy();
  expect(screen.getAllByText("Failed")).toHaveLength(2); // in the panel and in the bar
});

test("a refusal of the agent is shown until the next answer is sent", async () => {
  const { tell } = await renderPerson();
  await tell("agent>server", { type: "agent_error", error: "not submitted: there is no task yet", fatal: false });
  expect(screen.getByRole("alert").textContent).toBe("not submitted: there is no task yet");
  await tell("server>agent", { type: "agent_query", query: "45", request_id: "r2" });
  expect(screen.queryByRole("alert")).toBeNull();
});
