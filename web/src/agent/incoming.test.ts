import { describe, expect, it, vi } from "vitest";
import {
  advance,
  cell,
  cells,
  commands,
  connect,
  executions,
  live,
  noticeTexts,
  openPage,
  ready,
  startEachTestEmpty,
  stateOf,
} from "./fakePage";
import { type Answers, socketAt } from "./fakeServer";

startEachTestEmpty();

describe("incoming messages", () => {
  it("are applied once, in order, and only those of /agent", async () => {
    await openPage();
    await connect();
    const stdio = (seq: number, data: string) => ({
      type: "kernel_stdio",
      active_cell: "a",
      stream: "stdout",
      data,
      seq,
    });
    socketAt("/run").receive(stdio(0, "twice"));
    const agent = socketAt("/agent");
    agent.receive(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      stdio(12, "one "),
      stdio(13, "two "),
    );
    agent.receive(stdio(13, "two "), stdio(12, "one "), stdio(14, "three"));
    await advance();
    expect(executions().a?.outputs).toEqual([{ output_type: "stream", name: "stdout", text: "one two three" }]);
  });

  it("are applied in a hidden page too", async () => {
    vi.stubGlobal("requestAnimationFrame", () => 1);
    await openPage();
    await connect();
    expect(Object.keys(cells())).toEqual(["a", "b"]);
  });

  it("of a deleted cell are ignored", async () => {
    await openPage();
    await connect();
    socketAt("/agent").receive(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 },
      { type: "kernel_stdio", active_cell: "a", stream: "stdout", data: "late", seq: 13 },
    );
    await advance();
    expect(executions().a).toBeUndefined();
  });

  it("report a new kernel and a new session", async () => {
    await openPage();
    await connect();
    socketAt("/agent").receive(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 },
      { type: "eval_result", case_id: "x" },
    );
    socketAt("/run").receive({ type: "managed_process_exit", name: "kernel", exit_code: 1 });
    await advance();
    expect(live().store.get()).toMatchObject({ notebook: { kernel: "dead" }, verdict: { case_id: "x" } });
    expect(commands()).toMatchObject({ canRun: false, canRestart: true });
    expect(commands().runProblem).toContain("The attempt has ended");
    expect(live().kernelPid).toBe(0);
    expect(executions().a?.status).toBe("error");
    socketAt("/run").receive({ ...ready, kernel_pid: 100 });
    socketAt("/agent").receive(stateOf(2, [cell("a")]));
    await advance();
    expect(live().store.get()).toMatchObject({ notebook: { kernel: "running", seq: 2 }, verdict: null });
    expect(live().store.get().agent.conversation).toEqual([]);
  });

  it("report what the server could not do", async () => {
    await openPage();
    await connect();
    commands().runCell("a");
    await advance();
    expect(executions().a?.pending).toBe(true);
    socketAt("/run").receive({ type: "error", data: { message: "there is no kernel to run_cell" } });
    await advance();
    expect(noticeTexts()).toEqual(["There is no kernel. Restart it to go on."]);
    expect(executions().a).toMatchObject({ pending: false, status: "idle" });
  });
});

describe("an agent that has ended", () => {
  const exit = (exit_code: number, signal = "") => ({ type: "managed_process_exit", name: "agent", exit_code, signal });
  const eventTexts = () =>
    live()
      .store.get()
      .agent.conversation.map((item) => (item.kind === "event" || item.kind === "error" ? item.text : item.kind));

  it("is reported in the conversation: its cause, that it was restarted, and when the next one is ready", async () => {
    await openPage();
    await connect();
    commands().restart("agent");
    socketAt("/run").receive(exit(-1, "SIGTERM"));
    socketAt("/agent").receive({ type: "agent_status", status: "ready", seq: 12 });
    await advance();
    const restarted = [expect.stringContaining("to be restarted"), expect.stringContaining("was restarted")];
    expect(eventTexts()).toEqual(restarted);
    socketAt("/run").receive(exit(-1, "SIGKILL"));
    commands().restart("agent");
    await advance();
    socketAt("/agent").receive({ type: "agent_status", status: "ready", seq: 13 });
    await advance();
    expect(eventTexts()).toEqual([...restarted, "The agent has ended: SIGKILL.", restarted[1]]);
  });

  it("and cannot be restarted is reported with the reason", async () => {
    await openPage();
    await connect();
    socketAt("/run").receive(exit(1), {
      type: "error",
      data: { message: "managed_process_restart: agent exited with status 3: no key" },
    });
    await advance();
    expect(eventTexts()).toEqual([
      "The agent has ended: exit code 1.",
      "It could not be started again: agent exited with status 3: no key",
    ]);
  });
});

describe("the past conversation", () => {
  const entry = (seq: number, text: string) => ({
    seq,
    hop: "agent>server",
    msg: { type: "agent_history_updated", entry: { role: "assistant", content: text } },
  });
  const path = "/api/sessions/s1/trace";
  const texts_ = () =>
    live()
      .store.get()
      .agent.conversation.map((item) => ("text" in item ? item.text : ""));

  it("is loaded page by page, before what is said meanwhile, and once", async () => {
    const trace = (url: URL) => {
      const from = Number(url.searchParams.get("from"));
      return from <= 1
        ? { entries: [entry(1, "one"), entry(2, "two")], next: 3 }
        : { entries: [entry(3, "three")], next: null };
    };
    await openPage("view", { "/api/sessions/s1": { trace: "t" }, [path]: trace });
    socketAt("/run").open();
    socketAt("/run").receive(ready);
    socketAt("/agent").open();
    socketAt("/agent").receive(stateOf(2, []));
    socketAt("/agent").receive({ ...entry(3, "three").msg, seq: 3 }, { ...entry(4, "four").msg, seq: 4 });
    await advance();
    expect(texts_()).toEqual(["one", "two", "three", "four"]);
  });

  it("is loaded from where it was in the same session, and in full for another one", async () => {
    const answers: Answers = { "/api/sessions/s1": { trace: "t" }, [path]: { entries: [entry(5, "old")], next: null } };
    const asked = await openPage("view", answers);
    await connect();
    const again = async () => {
      socketAt("/run").drop(1006);
      await advance(1000);
      await connect();
    };
    answers[path] = { entries: [entry(8, "meanwhile")], next: null };
    await again();
    expect(texts_()).toEqual(["old", "meanwhile"]);
    answers["/api/sessions/s1"] = { trace: "another" };
    answers[path] = { entries: [entry(3, "new")], next: null };
    await again();
    expect(texts_()).toEqual(["new"]);
    const from = asked.filter(({ pathname }) => pathname === path).map(({ searchParams }) => searchParams.get("from"));
    expect(from).toEqual(["1", "6", "1"]);
  });

  it("is not shown twice to a holder, whose messages have no seq", async () => {
    const one = entry(4, "one");
    await openPage("holder", { "/api/sessions/s1": { trace: "t" }, [path]: { entries: [one], next: null } });
    socketAt("/run").open();
    socketAt("/run").receive(ready);
    socketAt("/agent").open();
    socketAt("/agent").receive(one.msg, entry(5, "two").msg);
    await advance();
    expect(texts_()).toEqual(["one", "two"]);
  });

  it("is reported if it cannot be loaded, and new messages are shown", async () => {
    await openPage("view", { "/api/sessions/s1": Response.json({ text: "broken disk" }, { status: 500 }) });
    await connect();
    socketAt("/agent").receive({ ...entry(11, "now").msg, seq: 11 });
    await advance();
    expect(noticeTexts()).toEqual(["What was said before could not be loaded: broken disk."]);
    expect(texts_()).toEqual(["now"]);
  });
});

describe("requests", () => {
  it("are settled by their own answers", async () => {
    await openPage();
    await connect();
    const [first, second] = [commands().setWidget("a/w", 1), commands().setWidget("a/w", { n: 2 })];
    const results = Promise.allSettled([first, second]);
    const run = socketAt("/run");
    const [one, two] = run.sentOf("set_widget_value");
    expect([one?.data, two?.data]).toEqual([{ "a/w": "1" }, { "a/w": '{"n":2}' }]);
    const type = "set_widget_value_response";
    run.receive({ type, agent_tx_id: two?.agent_tx_id, status: "success", errors: {} });
    run.receive({ type, agent_tx_id: one?.agent_tx_id, status: "error", errors: { "a/w": "too large" } });
    await advance();
    expect(await results).toMatchObject([{ reason: { message: "too large" } }, { status: "fulfilled" }]);
  });

  it("time out", async () => {
    await openPage();
    await connect();
    const asked = expect(commands().reactivity()).rejects.toThrow("the server did not answer");
    await advance(20_000);
    await asked;
  });

  it("send a query to the agent, show it, and cancel it", async () => {
    await openPage();
    await connect();
    commands().query("do it");
    await advance();
    const [query] = socketAt("/agent").sentOf("agent_query");
    expect(live().store.get().agent).toMatchObject({ request: query?.request_id, conversation: [{ text: "do it" }] });
    commands().cancel();
    expect(socketAt("/agent").sentOf("agent_cancel")).toEqual([
      { type: "agent_cancel", request_id: query?.request_id },
    ]);
    socketAt("/agent").receive({ type: "agent_error", error: "there is no agent" });
    expect(noticeTexts()).toEqual(["there is no agent"]);
  });
});
