import { describe, expect, it, vi } from "vitest";
import { begin, commands, connect, eachTestOnAnEmptyPage, live, load, pass, ready, texts } from "./fakePage";
import { type Answers, socketAt } from "./fakeServer";
import { View } from "./view";

eachTestOnAnEmptyPage();

const path = "/api/sessions/s1";

async function askAndLose(answers: Answers): Promise<string> {
  await begin("view", answers);
  await connect();
  commands().query("What is there?");
  await pass();
  return String(socketAt("/agent").sentOf("agent_query")[0]?.request_id);
}

async function back(): Promise<void> {
  socketAt("/agent").drop(1006);
  await pass(300);
  await connect();
  await pass();
}

describe("a question to the agent", () => {
  it("that nothing shows is told of, and can be asked again", async () => {
    await askAndLose({});
    await back();
    expect(texts()).toEqual([expect.stringContaining("What is there?")]);
    expect(live().store.get().agent.conversation).toMatchObject([{ text: "What is there?", label: "Not sent" }]);
    live().notices[0]?.action?.run();
    expect(socketAt("/agent").sentOf("agent_query")).toMatchObject([{ query: "What is there?" }]);
  });

  it("that the trace shows is not told of", async () => {
    const entries: unknown[] = [];
    const id = await askAndLose({ [path]: { trace: "t" }, [`${path}/trace`]: () => ({ entries }) });
    const msg = { type: "agent_query", query: "What is there?", request_id: id };
    entries.push({ seq: 11, hop: "console>server", msg });
    socketAt("/agent").says({ type: "agent_status", status: "thinking", seq: 14 });
    await pass();
    await back();
    expect(texts()).toEqual([]);
  });

  it("that the agent has answered is not told of", async () => {
    const request_id = await askAndLose({});
    socketAt("/agent").says({ type: "agent_event", text: "", metadata: { type: "begun", request_id }, seq: 12 });
    await pass();
    await back();
    expect(texts()).toEqual([]);
  });
});

describe("a question that was not sent when the page is loaded again", () => {
  const told = [expect.stringContaining("What is there?")];
  const again = async () => {
    await load();
    await connect();
    await pass();
  };

  it("is told of and can be asked again, until it was asked or dismissed", async () => {
    await askAndLose({});
    await again();
    expect(texts()).toEqual(told);
    await again();
    expect(texts()).toEqual(told);
    const [notice] = live().notices;
    notice?.action?.run();
    live().dismiss(notice?.id ?? 0);
    const [asked] = socketAt("/agent").sentOf("agent_query");
    expect(asked).toMatchObject({ query: "What is there?" });
    const metadata = { type: "begun", request_id: asked?.request_id };
    socketAt("/agent").says({ type: "agent_event", text: "", metadata, seq: 12 });
    await pass();
    await again();
    expect(texts()).toEqual([]);
  });

  it("is not told of when the trace shows it", async () => {
    const entries: unknown[] = [];
    const id = await askAndLose({ [path]: { trace: "t" }, [`${path}/trace`]: () => ({ entries }) });
    entries.push({ seq: 11, hop: "console>server", msg: { type: "agent_query", query: "?", request_id: id } });
    await again();
    expect(texts()).toEqual([]);
  });

  it("is passed over when what was kept cannot be read", async () => {
    sessionStorage.setItem("assay.asked.s1", '[{"type":"agent_query","query":7},null,"x"]');
    await begin();
    await connect();
    expect(texts()).toEqual([]);
  });
});

it("tells of a restart that nothing shows", async () => {
  await begin();
  await connect();
  commands().restart("kernel");
  socketAt("/run").says({ ...ready, kernel_pid: 100 });
  commands().restart("agent");
  await back();
  expect(texts()).toEqual([expect.stringContaining("nothing shows that the agent was restarted")]);
});

it("shows what the agent says when the trace does not come", async () => {
  await begin("view");
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  await connect();
  socketAt("/agent").says({ type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 });
  await pass(9000);
  expect(live().store.get().agent.conversation).toEqual([]);
  await pass(1500);
  expect(live().store.get().agent.conversation).toMatchObject([{ text: "hi" }]);
  expect(texts()).toEqual(["What was said before could not be loaded: the server does not answer."]);
});

it("says why the page cannot begin, and tries again", async () => {
  const load = vi.spyOn(View.prototype, "load").mockRejectedValueOnce(new Error("out of order"));
  await begin();
  expect(texts()).toEqual(["The page could not begin: out of order"]);
  load.mockRestore();
  live().notices[0]?.action?.run();
  await pass();
  await connect();
  expect(live().connection.state).toBe("connected");
});

it.each(["view", "holder"] as const)("connects as a %s where nothing can be stored", async (role) => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  const storage = { getItem: forbidden, setItem: forbidden, removeItem: forbidden, clear: () => undefined };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("indexedDB", { open: forbidden });
  await begin(role);
  await connect();
  expect(live().connection.state).toBe("connected");
});
