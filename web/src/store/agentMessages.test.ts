import { describe, expect, it } from "vitest";
import { entryFromJSON } from "../protocol/fakeMessages";
import type { Entry, Hop } from "../protocol/messages";
import { initialState, reduceEntries } from "./reducer";
import type { ConversationItem, State } from "./state";

function agentEntry(seq: number, msg: object, hop: Hop = "agent>server"): Entry {
  return entryFromJSON(seq, hop, msg);
}

function historyEntry(seq: number, role: string, content: unknown, request?: string): Entry {
  const entry = { type: "anthropic_message", role, content, ...(request === undefined ? {} : { request_id: request }) };
  return agentEntry(seq, { type: "agent_history_updated", entry });
}

function queryEntry(seq: number, query: string, request = "", hop: Hop = "server>agent"): Entry {
  return agentEntry(seq, { type: "agent_query", query, request_id: request }, hop);
}

const agentStateAfter = (entries: Entry[], state: State = initialState) => reduceEntries(state, entries).agent;
const textsOfItems = (items: readonly ConversationItem[]) =>
  items.map((item) => ("text" in item ? item.text : `${item.kind} ${item.name}`));

describe("the conversation", () => {
  it("has texts, thoughts and tool calls in order, and each call has its result", () => {
    const { conversation } = agentStateAfter([
      historyEntry(1, "user", "do it"),
      historyEntry(2, "assistant", [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "t1", name: "run_cell", input: { cell_id: "a" } },
        { type: "tool_use", id: "t2", name: "get_context", input: {} },
      ]),
      historyEntry(3, "user", [
        { type: "tool_result", tool_use_id: "t2", content: "two", is_error: true },
        {
          type: "tool_result",
          tool_use_id: "t1",
          content: [
            { type: "text", text: "one" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          ],
        },
      ]),
    ]);
    expect(conversation).toMatchObject([
      { kind: "text", role: "user", text: "do it", seq: 1 },
      { kind: "thinking", text: "hm", seq: 2 },
      { kind: "text", role: "assistant", text: "I look." },
      {
        kind: "tool",
        id: "t1",
        name: "run_cell",
        result: { isError: false, content: [{ text: "one" }, { type: "image", mime: "image/png", data: "AAAA" }] },
      },
      { kind: "tool", id: "t2", result: { isError: true, content: [{ type: "text", text: "two" }] } },
    ]);
    expect(conversation).toHaveLength(5);
  });

  it("adds a result to the newest call if call ids repeat", () => {
    const call = (seq: number) =>
      historyEntry(seq, "assistant", [{ type: "tool_use", id: "t", name: `call${seq}`, input: {} }]);
    const result = (seq: number, text: string) =>
      historyEntry(seq, "user", [{ type: "tool_result", tool_use_id: "t", content: text }]);
    const { conversation } = agentStateAfter([call(1), result(2, "first"), call(3), result(4, "second")]);
    expect(conversation).toMatchObject([
      { result: { content: [{ text: "first" }] } },
      { result: { content: [{ text: "second" }] } },
    ]);
  });

  it("keeps a result without a call", () => {
    const { conversation } = agentStateAfter([
      historyEntry(1, "user", [{ type: "tool_result", tool_use_id: "x", content: "odd" }]),
    ]);
    expect(conversation).toMatchObject([{ kind: "tool", id: "x", result: { content: [{ text: "odd" }] } }]);
  });

  it("has events, errors and submissions", () => {
    const { conversation } = agentStateAfter([
      agentEntry(1, { type: "agent_event", text: "again in 1 s", metadata: { type: "retry", wait_ms: 1000 } }),
      agentEntry(2, { type: "agent_error", error: "no", fatal: true }),
      agentEntry(3, { type: "agent_result", structured_output: { summary: "done" } }),
    ]);
    expect(conversation).toMatchObject([
      { kind: "event", event: "retry", text: "again in 1 s", metadata: { wait_ms: 1000 } },
      { kind: "error", text: "no", fatal: true },
      { kind: "tool", name: "submit_response", input: { summary: "done" } },
    ]);
  });
});

describe("a query", () => {
  it("is shown once, whether the agent repeats it or not", () => {
    expect(textsOfItems(agentStateAfter([queryEntry(1, "sum", "r1")]).conversation)).toEqual(["sum"]);
    const repeated = agentStateAfter([
      queryEntry(1, "sum", "r1"),
      queryEntry(1, "sum", "r1", "console>server"),
      historyEntry(2, "user", "sum\n<files>", "r1"),
    ]);
    expect(textsOfItems(repeated.conversation)).toEqual(["sum\n<files>"]);
    expect(textsOfItems(agentStateAfter([queryEntry(1, "sum"), historyEntry(2, "user", "sum")]).conversation)).toEqual([
      "sum",
    ]);
  });

  it("is shown once if the repetition was received first", () => {
    const { conversation } = agentStateAfter([
      historyEntry(2, "user", "sum", "r1"),
      historyEntry(3, "assistant", "yes", "r1"),
      queryEntry(1, "sum", "r1"),
    ]);
    expect(textsOfItems(conversation)).toEqual(["sum", "yes"]);
  });

  it("is shown again when it is asked again", () => {
    const { conversation } = agentStateAfter([
      queryEntry(1, "go on", "r1"),
      historyEntry(2, "user", "go on", "r1"),
      queryEntry(3, "go on", "r2"),
      historyEntry(4, "user", "go on", "r2"),
    ]);
    expect(textsOfItems(conversation)).toEqual(["go on", "go on"]);
  });

  it("of this page is shown before it is in the trace, and then once", () => {
    const sent = agentStateAfter([queryEntry(0, "sum", "r1", "console>server")]);
    expect(sent).toMatchObject({ request: "r1", conversation: [{ text: "sum", seq: 0 }] });
    const state = { ...initialState, agent: sent };
    expect(
      textsOfItems(
        agentStateAfter([queryEntry(5, "sum", "r1"), historyEntry(6, "user", "sum", "r1")], state).conversation,
      ),
    ).toEqual(["sum"]);
  });

  it("is the current request until the agent reports that it ended", () => {
    const working = agentStateAfter([queryEntry(1, "a", "r1"), historyEntry(2, "user", "a", "r1")]);
    expect(working.request).toBe("r1");
    const ended = agentEntry(3, { type: "agent_event", text: "", metadata: { type: "ended", request_id: "r1" } });
    expect(agentStateAfter([ended], { ...initialState, agent: working }).request).toBeNull();
  });
});

describe("messages that are repeated or late", () => {
  const all = [
    queryEntry(1, "sum", "r"),
    historyEntry(2, "user", "sum", "r"),
    agentEntry(3, { type: "agent_status", status: "thinking" }),
    historyEntry(4, "assistant", [{ type: "tool_use", id: "t", name: "x", input: {} }], "r"),
    historyEntry(5, "user", [{ type: "tool_result", tool_use_id: "t", content: "y" }], "r"),
    agentEntry(6, { type: "agent_event", text: "e", metadata: { type: "tick" } }),
    historyEntry(7, "assistant", "done", "r"),
    agentEntry(8, { type: "agent_status", status: "done" }),
  ];
  const whole = agentStateAfter(all);

  it.each([
    ["twice", [...all, ...all]],
    ["with an overlap", [...all.slice(0, 5), ...all.slice(2)]],
    ["the newest first", [...all.slice(5), ...all.slice(0, 5)]],
  ])("is the same: %s", (_, entries) => {
    const agent = agentStateAfter(entries);
    expect(textsOfItems(agent.conversation)).toEqual(textsOfItems(whole.conversation));
    expect(agent.status).toBe("done");
  });
});

describe("a streamed reply", () => {
  const start = agentEntry(1, { type: "agent_stream_start" });
  const block = (seq: number, index: number, type: string, name?: string) =>
    agentEntry(seq, { type: "agent_stream_block_start", block_index: index, block_type: type, block_name: name });
  const delta = (seq: number, index: number, text: string) =>
    agentEntry(seq, { type: "agent_stream_delta", block_index: index, block_type: "text", delta: text });

  it("grows block by block, and is replaced by the message", () => {
    const entries = [
      start,
      block(2, 0, "text"),
      delta(3, 0, "I "),
      delta(4, 0, "look"),
      block(5, 1, "tool_use", "run_cell"),
    ];
    const state = reduceEntries(initialState, entries);
    expect(state.agent.stream).toEqual([
      { type: "text", text: "I look" },
      { type: "tool_use", name: "run_cell", text: "" },
    ]);
    expect(agentStateAfter([historyEntry(6, "assistant", "I look")], state)).toMatchObject({
      stream: null,
      conversation: [{ text: "I look" }],
    });
  });

  it("stays if the message belongs to another conversation", () => {
    const state = reduceEntries(initialState, [start, block(2, 0, "text"), delta(3, 0, "mine")]);
    expect(agentStateAfter([historyEntry(4, "assistant", "theirs")], state).stream).toEqual([
      { type: "text", text: "mine" },
    ]);
  });

  it("is removed if it failed, and when the agent is ready", () => {
    const state = reduceEntries(initialState, [start, delta(3, 0, "x")]);
    expect(agentStateAfter([agentEntry(4, { type: "agent_stream_complete", error: "cut" })], state).stream).toBeNull();
    expect(agentStateAfter([agentEntry(4, { type: "agent_status", status: "ready" })], state).stream).toBeNull();
  });

  it("may lack its beginning, and ignores block indexes out of bounds", () => {
    expect(agentStateAfter([delta(3, 2, "x")]).stream).toHaveLength(3);
    expect(agentStateAfter([delta(3, 1e9, "x"), delta(4, -1, "x")]).stream).toBeNull();
  });
});

it("the agent is gone when its process ends, and ready when the next one starts", () => {
  const exit = agentEntry(5, { type: "managed_process_exit", name: "agent", exit_code: 1, signal: "" }, "session");
  const gone = agentStateAfter([agentEntry(1, { type: "agent_status", status: "thinking" }), exit]);
  expect(gone.status).toBe("gone");
  expect(textsOfItems(gone.conversation)).toEqual(["The agent has ended: exit code 1."]);
  expect(
    agentStateAfter([agentEntry(6, { type: "agent_status", status: "ready" })], { ...initialState, agent: gone })
      .status,
  ).toBe("ready");
});

it("messages from before the history was cleared are ignored", () => {
  const before = [historyEntry(1, "user", "old"), historyEntry(2, "assistant", "older")];
  const cleared = agentEntry(3, { type: "agent_clear_history" }, "console>server");
  const { conversation } = agentStateAfter([...before, cleared, historyEntry(4, "user", "new"), ...before]);
  expect(textsOfItems(conversation)).toEqual(["new"]);
});

it("usage and status are updated, and invalid ones are ignored", () => {
  const agent = agentStateAfter([
    agentEntry(1, { type: "agent_usage_update", input_tokens: 9, output_tokens: 2, cost_usd: 0.5, context_limit: 100 }),
    agentEntry(2, { type: "agent_status", status: "executing" }),
    agentEntry(3, { type: "agent_status", status: "flying" }),
  ]);
  expect(agent).toMatchObject({ status: "executing", usage: { input_tokens: 9, cost_usd: 0.5, context_limit: 100 } });
});
