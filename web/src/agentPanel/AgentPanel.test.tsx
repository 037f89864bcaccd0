import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CommandsProvider } from "../commands/commands";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import { messageOf } from "../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../protocol/messages";
import { createStore, StoreProvider } from "../store/store";
import { AgentPanel } from "./AgentPanel";
import { fakeCommands } from "./fakeCommands";
import { fakeLayout } from "./fakeLayout";

vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <p>{source}</p> }));

/** What the server answers, by method and path. */
let answers: Record<string, () => Response>;
let asked: string[];
const hops: Record<string, Hop> = { notebook_event: "notebook", eval_result: "server>console" };

beforeEach(() => {
  fakeLayout(600);
  asked = [];
  answers = { "GET /api/sessions/one": () => Response.json({ attempt: null }) };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const request = `${init.method ?? "GET"} ${path}`;
    asked.push(init.body === undefined ? request : `${request} ${init.body}`);
    return answers[request]?.() ?? Response.json({ code: "not_found", text: `nothing at ${path}` }, { status: 404 });
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const cases = {
  cases: [
    { path: "a.json", id: "sum", task: "Add up.", tags: ["easy"] },
    { path: "b.json", id: "join" },
  ],
};

async function draw({ refusal = null as string | null, withCases = false } = {}) {
  const store = createStore();
  const commands = fakeCommands();
  const navigation = createNavigation();
  let seq = 0;
  const tell = (...messages: OutgoingMessage[]) =>
    act(async () =>
      store.apply(messages.map((msg) => ({ seq: ++seq, hop: hops[msg.type] ?? "agent>server", msg: messageOf(msg) }))),
    );
  await act(async () => {
    render(
      <StoreProvider value={store}>
        <NavigationProvider value={navigation}>
          <CommandsProvider value={commands}>
            <AgentPanel session="one" connected refusal={refusal} cases={withCases} />
          </CommandsProvider>
        </NavigationProvider>
      </StoreProvider>,
    );
  });
  return { store, commands, navigation, tell };
}

const status = (word: string): OutgoingMessage => ({ type: "agent_status", status: word });
const verdict = {
  type: "eval_result",
  case_id: "sum",
  outcome: "completed",
  passed: true,
  score: 1,
  graders: [],
  answer: 1,
};
const box = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Ask the agent" });

test("Enter sends, Shift-Enter does not, and neither does Enter in the midst of composing a character", async () => {
  const { commands } = await draw();
  fireEvent.change(box(), { target: { value: "sum\nthem" } });
  fireEvent.keyDown(box(), { key: "Enter", shiftKey: true });
  fireEvent.keyDown(box(), { key: "Enter", isComposing: true });
  expect(commands.query).not.toHaveBeenCalled();
  fireEvent.keyDown(box(), { key: "Enter" });
  expect(commands.query).toHaveBeenCalledExactlyOnceWith("sum\nthem");
  expect(box().value).toBe("");
  fireEvent.keyDown(box(), { key: "Enter" });
  expect(commands.query).toHaveBeenCalledTimes(1);
});

test("where nothing may be asked the reason stands there, what is written stays, and nothing is sent", async () => {
  const { commands, tell } = await draw({ refusal: "Another console owns this session." });
  await tell(status("thinking"));
  expect(screen.getByText("Another console owns this session.")).toBeTruthy();
  expect(box().readOnly).toBe(true);
  fireEvent.change(box(), { target: { value: "half a question" } });
  fireEvent.keyDown(box(), { key: "Enter" });
  expect(box().value).toBe("half a question");
  expect(commands.query).not.toHaveBeenCalled();
  for (const name of [/Cancel/, /Clear history/, /Restart agent/, /Send/]) {
    expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
  }
});

test("an agent at work can be cancelled, and says what it waits for", async () => {
  const { commands, tell } = await draw();
  expect(screen.queryByRole("button", { name: /Cancel/ })).toBeNull();
  const content = [{ type: "tool_use", id: "t", name: "get_context", input: {} }];
  await tell(status("executing"), { type: "agent_history_updated", entry: { role: "assistant", content } });
  expect(screen.getByText("Working")).toBeTruthy();
  expect(document.querySelector("code")?.textContent).toBe("get_context");
  fireEvent.click(screen.getByRole("button", { name: /Cancel/ }));
  expect(commands.cancel).toHaveBeenCalledOnce();
});

test("the history is cleared only when one is sure", async () => {
  const { commands } = await draw();
  fireEvent.click(screen.getByRole("button", { name: /Clear history/ }));
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(commands.clearHistory).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: /Clear history/ }));
  fireEvent.click(screen.getByRole("button", { name: "Clear" }));
  expect(commands.clearHistory).toHaveBeenCalledOnce();
});

test("a cell that a tool is about is a link that jumps to it; one that is gone is none", async () => {
  const { tell, navigation } = await draw();
  const jumped = vi.fn();
  navigation.onRequest(jumped);
  const cell = { cell_id: "abc", cell_type: "code", source: "", display_name: "", rev: 1 };
  const content = ["abc", "gone"].map((id) => ({ type: "tool_use", id, name: "run_cell", input: { cell_id: id } }));
  await tell(
    { type: "notebook_event", event: "cell_created", cell, position: 0 },
    { type: "agent_history_updated", entry: { role: "assistant", content } },
  );
  fireEvent.click(screen.getByRole("button", { name: "cell 1" }));
  expect(jumped.mock.calls).toEqual([[{ jump: "abc" }]]);
  expect(screen.getByTitle("This cell is not in the notebook").textContent).toBe("gone");
});

test("a case is shown while it goes on, its verdict when it has ended, until another begins", async () => {
  answers["GET /api/sessions/one"] = () =>
    Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {}, started: "2026-11-20T14:00:00Z" } });
  const { tell, store } = await draw();
  expect(await screen.findByRole("region", { name: "Case" })).toBeTruthy();
  expect(screen.getByText(/intervention/)).toBeTruthy();
  await tell(verdict);
  expect(screen.getByText("Passed")).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Case" })).toBeNull();
  expect(screen.getByText(/The attempt has ended/)).toBeTruthy();
  expect(box().readOnly).toBe(true);
  const before = asked.length;
  await act(async () => store.update((state) => ({ ...state, verdict: null })));
  expect(asked.length).toBe(before + 1);
  expect(await screen.findByRole("region", { name: "Case" })).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Verdict" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: /Passed.*sum/ }));
  expect(screen.getByRole("region", { name: "Verdict" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "All runs" }).getAttribute("href")).toBe("/runs");
});

test("a verdict leads to its attempt when that is among the runs", async () => {
  answers["GET /api/sessions/one"] = () =>
    Response.json({ attempt: null, trace: "r/a run/attempts/0001-sum/trace.jsonl" });
  answers["GET /api/runs/a%20run/attempts/0001-sum"] = () => Response.json({});
  const { tell } = await draw();
  await tell(verdict);
  const link = await screen.findByRole("link", { name: "The attempt" });
  expect(link.getAttribute("href")).toBe("/runs/a%20run/0001-sum");
});

test("the attempt is asked for again while its task has not been given, and no more after that", async () => {
  answers["GET /api/sessions/one"] = () => Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {} } });
  const { tell } = await draw();
  await screen.findByText("not begun");
  answers["GET /api/sessions/one"] = () =>
    Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {}, started: new Date().toISOString() } });
  await tell(status("ready"));
  await waitFor(() => expect(screen.queryByText("not begun")).toBeNull());
  const before = asked.length;
  await tell(status("thinking"), status("executing"));
  expect(asked.length).toBe(before);
});

test("cases are found, chosen and attached; what is wrong with one is said", async () => {
  answers["GET /api/cases?limit=5000"] = () => Response.json(cases);
  answers["POST /api/sessions/one/case"] = () =>
    Response.json({ code: "bad_parameter", text: "a.json: no such case" }, { status: 400 });
  await draw({ withCases: true });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findAllByRole("radio")).length).toBe(2);
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "EASY add" } });
  expect(screen.getAllByRole("radio").length).toBe(1);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Attach" }).disabled).toBe(true);
  fireEvent.click(screen.getByRole("radio"));
  fireEvent.click(screen.getByRole("button", { name: "Attach" }));
  expect((await screen.findByRole("alert")).textContent).toBe("a.json: no such case");
  expect(asked.at(-1)).toBe('POST /api/sessions/one/case {"path":"a.json","id":"sum"}');
  answers["POST /api/sessions/one/case"] = () => Response.json({}, { status: 202 });
  fireEvent.click(screen.getByRole("button", { name: "Attach" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("that the cases cannot be listed is said, and cases that are none are passed over", async () => {
  answers["GET /api/cases?limit=5000"] = () => Response.json({ code: "conflict", text: "no --case" }, { status: 409 });
  await draw({ withCases: true });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findByRole("alert")).textContent).toBe("no --case");
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  answers["GET /api/cases?limit=5000"] = () => Response.json({ cases: [7, null, {}, { path: "a", id: 7, tags: "x" }] });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findAllByRole("radio")).length).toBe(1);
});

test("tokens, cost and how full the context is", async () => {
  const { tell } = await draw();
  const usage = { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 300, cache_creation_input_tokens: 0 };
  await tell(
    { type: "agent_history_updated", entry: { role: "assistant", content: "a", usage } },
    { type: "agent_usage_update", ...usage, context_limit: 1000, cost_usd: 0.5 },
  );
  const words = [...document.querySelectorAll("dl > div")].map((div) => div.textContent);
  expect(words).toEqual(["in400", "cached75 %", "out20", "cost$0.500"]);
  expect(screen.getByText("context 42 %")).toBeTruthy();
  expect(screen.getByRole("meter", { name: "Context used" }).getAttribute("value")).toBe("420");
});
