import { act, cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CommandsProvider } from "../commands/commands";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import { messageFromJSON } from "../protocol/fakeMessages";
import type { Hop, OutgoingMessage } from "../protocol/messages";
import { createStore, StoreProvider } from "../store/store";
import { AgentPanel } from "./AgentPanel";
import { fakeCommands } from "./fakeCommands";
import { fakeLayout } from "./fakeLayout";

vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <p>{source}</p> }));

/** The responses of the fake API by "METHOD path". Requests without an entry get a 404. */
let apiResponseByRequest: Record<string, () => Response>;
let sentApiRequests: string[];
const hopByType: Record<string, Hop> = { notebook_event: "notebook", eval_result: "server>console" };

beforeEach(() => {
  fakeLayout(600);
  sentApiRequests = [];
  apiResponseByRequest = { "GET /api/sessions/one": () => Response.json({ attempt: null }) };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const request = `${init.method ?? "GET"} ${path}`;
    sentApiRequests.push(init.body === undefined ? request : `${request} ${init.body}`);
    return (
      apiResponseByRequest[request]?.() ??
      Response.json({ code: "not_found", text: `nothing at ${path}` }, { status: 404 })
    );
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const caseListResponse = {
  cases: [
    { path: "a.json", id: "sum", task: "Add up.", tags: ["easy"] },
    { path: "b.json", id: "join" },
  ],
};

async function renderPanel({ refusal = null as string | null, withCases = false } = {}) {
  const store = createStore();
  const commands = fakeCommands();
  const navigation = createNavigation();
  let seq = 0;
  const applyMessages = (...messages: OutgoingMessage[]) =>
    act(async () =>
      store.apply(
        messages.map((msg) => ({ seq: ++seq, hop: hopByType[msg.type] ?? "agent>server", msg: messageFromJSON(msg) })),
      ),
    );
  await act(async () => {
    render(
      <StoreProvider value={store}>
        <NavigationProvider value={navigation}>
          <CommandsProvider value={commands}>
            <AgentPanel session="one" connected refusal={refusal} canAttachCases={withCases} />
          </CommandsProvider>
        </NavigationProvider>
      </StoreProvider>,
    );
  });
  return { store, commands, navigation, applyMessages };
}

const agentStatusMessage = (word: string): OutgoingMessage => ({ type: "agent_status", status: word });
const verdictMessage = {
  type: "eval_result",
  case_id: "sum",
  outcome: "completed",
  passed: true,
  score: 1,
  graders: [],
  answer: 1,
};
const messageBox = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Ask the agent" });

test("Enter sends; Shift-Enter and Enter during character composition do not", async () => {
  const { commands } = await renderPanel();
  fireEvent.change(messageBox(), { target: { value: "sum\nthem" } });
  fireEvent.keyDown(messageBox(), { key: "Enter", shiftKey: true });
  fireEvent.keyDown(messageBox(), { key: "Enter", isComposing: true });
  expect(commands.query).not.toHaveBeenCalled();
  fireEvent.keyDown(messageBox(), { key: "Enter" });
  expect(commands.query).toHaveBeenCalledExactlyOnceWith("sum\nthem");
  expect(messageBox().value).toBe("");
  fireEvent.keyDown(messageBox(), { key: "Enter" });
  expect(commands.query).toHaveBeenCalledTimes(1);
});

test("shows the refusal, keeps the typed text and sends nothing", async () => {
  const { commands, applyMessages } = await renderPanel({ refusal: "Another console owns this session." });
  await applyMessages(agentStatusMessage("thinking"));
  expect(screen.getByText("Another console owns this session.")).toBeTruthy();
  expect(messageBox().readOnly).toBe(true);
  fireEvent.change(messageBox(), { target: { value: "half a question" } });
  fireEvent.keyDown(messageBox(), { key: "Enter" });
  expect(messageBox().value).toBe("half a question");
  expect(commands.query).not.toHaveBeenCalled();
  for (const name of [/Cancel/, /Clear history/, /Restart agent/, /Send/]) {
    expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
  }
});

test("a busy agent can be cancelled and shows the tool it waits for", async () => {
  const { commands, applyMessages } = await renderPanel();
  expect(screen.queryByRole("button", { name: /Cancel/ })).toBeNull();
  const content = [{ type: "tool_use", id: "t", name: "get_context", input: {} }];
  await applyMessages(agentStatusMessage("executing"), {
    type: "agent_history_updated",
    entry: { role: "assistant", content },
  });
  expect(screen.getByText("Working")).toBeTruthy();
  expect(document.querySelector("code")?.textContent).toBe("get_context");
  fireEvent.click(screen.getByRole("button", { name: /Cancel/ }));
  expect(commands.cancel).toHaveBeenCalledOnce();
});

test("the history is cleared only after confirmation", async () => {
  const { commands } = await renderPanel();
  fireEvent.click(screen.getByRole("button", { name: /Clear history/ }));
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(commands.clearHistory).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: /Clear history/ }));
  fireEvent.click(screen.getByRole("button", { name: "Clear" }));
  expect(commands.clearHistory).toHaveBeenCalledOnce();
});

test("a cell named by a tool call is a link to it; a deleted cell is plain text", async () => {
  const { applyMessages, navigation } = await renderPanel();
  const onRequest = vi.fn();
  navigation.onRequest(onRequest);
  const cell = { cell_id: "abc", cell_type: "code", source: "", display_name: "", rev: 1 };
  const content = ["abc", "gone"].map((id) => ({ type: "tool_use", id, name: "run_cell", input: { cell_id: id } }));
  await applyMessages(
    { type: "notebook_event", event: "cell_created", cell, position: 0 },
    { type: "agent_history_updated", entry: { role: "assistant", content } },
  );
  fireEvent.click(screen.getByRole("button", { name: "cell 1" }));
  expect(onRequest.mock.calls).toEqual([[{ jump: "abc" }]]);
  expect(screen.getByTitle("This cell is not in the notebook").textContent).toBe("gone");
});

test("shows the case during the attempt, the verdict after it, and the old verdict collapsed when the next attempt begins", async () => {
  apiResponseByRequest["GET /api/sessions/one"] = () =>
    Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {}, started: "2026-11-20T14:00:00Z" } });
  const { applyMessages, store } = await renderPanel();
  expect(await screen.findByRole("region", { name: "Case" })).toBeTruthy();
  expect(screen.getByText(/intervention/)).toBeTruthy();
  await applyMessages(verdictMessage);
  expect(screen.getByText("Passed")).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Case" })).toBeNull();
  expect(screen.getByText(/The attempt has ended/)).toBeTruthy();
  expect(messageBox().readOnly).toBe(true);
  const before = sentApiRequests.length;
  await act(async () => store.update((state) => ({ ...state, verdict: null })));
  expect(sentApiRequests.length).toBe(before + 1);
  expect(await screen.findByRole("region", { name: "Case" })).toBeTruthy();
  expect(screen.queryByRole("region", { name: "Verdict" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: /Passed.*sum/ }));
  expect(screen.getByRole("region", { name: "Verdict" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "All runs" }).getAttribute("href")).toBe("/runs");
});

test("the verdict links to the attempt if the attempt is stored", async () => {
  apiResponseByRequest["GET /api/sessions/one"] = () =>
    Response.json({ attempt: null, trace: "r/a run/attempts/0001-sum/trace.jsonl" });
  apiResponseByRequest["GET /api/runs/a%20run/attempts/0001-sum"] = () => Response.json({});
  const { applyMessages } = await renderPanel();
  await applyMessages(verdictMessage);
  const link = await screen.findByRole("link", { name: "Open attempt" });
  expect(link.getAttribute("href")).toBe("/runs/a%20run/0001-sum");
});

test("reloads the attempt while its task has not started, and not after that", async () => {
  apiResponseByRequest["GET /api/sessions/one"] = () =>
    Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {} } });
  const { applyMessages } = await renderPanel();
  await screen.findByText("not started");
  apiResponseByRequest["GET /api/sessions/one"] = () =>
    Response.json({ attempt: { case_id: "sum", task: "Add up.", limits: {}, started: new Date().toISOString() } });
  await applyMessages(agentStatusMessage("ready"));
  await waitFor(() => expect(screen.queryByText("not started")).toBeNull());
  const before = sentApiRequests.length;
  await applyMessages(agentStatusMessage("thinking"), agentStatusMessage("executing"));
  expect(sentApiRequests.length).toBe(before);
});

test("cases are filtered, chosen and attached; the server's error is shown", async () => {
  apiResponseByRequest["GET /api/cases?limit=5000"] = () => Response.json(caseListResponse);
  apiResponseByRequest["POST /api/sessions/one/case"] = () =>
    Response.json({ code: "bad_parameter", text: "a.json: no such case" }, { status: 400 });
  await renderPanel({ withCases: true });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findAllByRole("radio")).length).toBe(2);
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "EASY add" } });
  expect(screen.getAllByRole("radio").length).toBe(1);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Attach" }).disabled).toBe(true);
  fireEvent.click(screen.getByRole("radio"));
  fireEvent.click(screen.getByRole("button", { name: "Attach" }));
  expect((await screen.findByRole("alert")).textContent).toBe("a.json: no such case");
  expect(sentApiRequests.at(-1)).toBe('POST /api/sessions/one/case {"path":"a.json","id":"sum"}');
  apiResponseByRequest["POST /api/sessions/one/case"] = () => Response.json({}, { status: 202 });
  fireEvent.click(screen.getByRole("button", { name: "Attach" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("shows why the cases cannot be listed, and leaves out malformed cases", async () => {
  apiResponseByRequest["GET /api/cases?limit=5000"] = () =>
    Response.json({ code: "conflict", text: "no --case" }, { status: 409 });
  await renderPanel({ withCases: true });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findByRole("alert")).textContent).toBe("no --case");
  fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
  apiResponseByRequest["GET /api/cases?limit=5000"] = () =>
    Response.json({ cases: [7, null, {}, { path: "a", id: 7, tags: "x" }] });
  fireEvent.click(screen.getByRole("button", { name: "Attach a case" }));
  expect((await screen.findAllByRole("radio")).length).toBe(1);
});

test("shows tokens, cost and context usage", async () => {
  const { applyMessages } = await renderPanel();
  const usage = { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 300, cache_creation_input_tokens: 0 };
  await applyMessages(
    { type: "agent_history_updated", entry: { role: "assistant", content: "a", usage } },
    { type: "agent_usage_update", ...usage, context_limit: 1000, cost_usd: 0.5 },
  );
  const figures = [...document.querySelectorAll("dl > div")].map((div) => div.textContent);
  expect(figures).toEqual(["in400", "cached75 %", "out20", "cost$0.500"]);
  expect(screen.getByText("context 42 %")).toBeTruthy();
  expect(screen.getByRole("meter", { name: "Context used" }).getAttribute("value")).toBe("420");
});
