import { describe, expect, it, vi } from "vitest";
import {
  advance,
  commands,
  connect,
  live,
  loadPage,
  noticeTexts,
  openPage,
  ready,
  startEachTestEmpty,
} from "./fakePage";
import { type Answers, socketAt } from "./fakeServer";
import { View } from "./view";

startEachTestEmpty();

const path = "/api/sessions/s1";

async function sendAndDisconnect(answers: Answers): Promise<string> {
  await openPage("view", answers);
  await connect();
  commands().query("What is there?");
  await advance();
  return String(socketAt("/agent").sentOf("agent_query")[0]?.request_id);
}

async function reconnect(): Promise<void> {
  socketAt("/agent").drop(1006);
  await advance(300);
  await connect();
  await advance();
}

describe("a query to the agent", () => {
  it("that is not confirmed is reported and can be sent again", async () => {
    await sendAndDisconnect({});
    await reconnect();
    expect(noticeTexts()).toEqual([expect.stringContaining("What is there?")]);
    expect(live().store.get().agent.conversation).toMatchObject([{ text: "What is there?", label: "Not sent" }]);
    live().notices[0]?.action?.run();
    expect(socketAt("/agent").sentOf("agent_query")).toMatchObject([{ query: "What is there?" }]);
  });

  it("that the trace has is not reported", async () => {
    const entries: unknown[] = [];
    const id = await sendAndDisconnect({ [path]: { trace: "t" }, [`${path}/trace`]: () => ({ entries }) });
    const msg = { type: "agent_query", query: "What is there?", request_id: id };
    entries.push({ seq: 11, hop: "console>server", msg });
    socketAt("/agent").receive({ type: "agent_status", status: "thinking", seq: 14 });
    await advance();
    await reconnect();
    expect(noticeTexts()).toEqual([]);
  });

  it("that the agent has answered is not reported", async () => {
    const request_id = await sendAndDisconnect({});
    socketAt("/agent").receive({ type: "agent_event", text: "", metadata: { type: "begun", request_id }, seq: 12 });
    await advance();
    await reconnect();
    expect(noticeTexts()).toEqual([]);
  });
});

describe("an unconfirmed query when the page is reloaded", () => {
  const reported = [expect.stringContaining("What is there?")];
  const reload = async () => {
    await loadPage();
    await connect();
    await advance();
  };

  it("is reported and can be sent again, until it is sent or dismissed", async () => {
    await sendAndDisconnect({});
    await reload();
    expect(noticeTexts()).toEqual(reported);
    await reload();
    expect(noticeTexts()).toEqual(reported);
    const [notice] = live().notices;
    notice?.action?.run();
    live().dismiss(notice?.id ?? 0);
    const [asked] = socketAt("/agent").sentOf("agent_query");
    expect(asked).toMatchObject({ query: "What is there?" });
    const metadata = { type: "begun", request_id: asked?.request_id };
    socketAt("/agent").receive({ type: "agent_event", text: "", metadata, seq: 12 });
    await advance();
    await reload();
    expect(noticeTexts()).toEqual([]);
  });

  it("is not reported if the trace has it", async () => {
    const entries: unknown[] = [];
    const id = await sendAndDisconnect({ [path]: { trace: "t" }, [`${path}/trace`]: () => ({ entries }) });
    entries.push({ seq: 11, hop: "console>server", msg: { type: "agent_query", query: "?", request_id: id } });
    await reload();
    expect(noticeTexts()).toEqual([]);
  });

  it("is ignored if the saved query cannot be read", async () => {
    sessionStorage.setItem("assay.asked.s1", '[{"type":"agent_query","query":7},null,"x"]');
    await openPage();
    await connect();
    expect(noticeTexts()).toEqual([]);
  });
});

it("reports a restart that is not confirmed", async () => {
  await openPage();
  await connect();
  commands().restart("kernel");
  socketAt("/run").receive({ ...ready, kernel_pid: 100 });
  commands().restart("agent");
  await reconnect();
  expect(noticeTexts()).toEqual([expect.stringContaining("it is unknown whether the agent was restarted")]);
});

it("shows the agent's messages if the trace cannot be loaded", async () => {
  await openPage("view");
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  await connect();
  socketAt("/agent").receive({ type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 });
  await advance(9000);
  expect(live().store.get().agent.conversation).toEqual([]);
  await advance(1500);
  expect(live().store.get().agent.conversation).toMatchObject([{ text: "hi" }]);
  expect(noticeTexts()).toEqual(["What was said before could not be loaded: the server does not answer."]);
});

it("says why the page cannot start, and tries again", async () => {
  const load = vi.spyOn(View.prototype, "load").mockRejectedValueOnce(new Error("out of order"));
  await openPage();
  expect(noticeTexts()).toEqual(["The page could not begin: out of order"]);
  load.mockRestore();
  live().notices[0]?.action?.run();
  await advance();
  await connect();
  expect(live().connection.state).toBe("connected");
});

it.each(["view", "holder"] as const)("connects as a %s where storage is forbidden", async (role) => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  const storage = { getItem: forbidden, setItem: forbidden, removeItem: forbidden, clear: () => undefined };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("indexedDB", { open: forbidden });
  await openPage(role);
  await connect();
  expect(live().connection.state).toBe("connected");
});
