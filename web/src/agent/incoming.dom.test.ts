import { describe, expect, it, vi } from "vitest";
import {
  acceptConnections,
  advanceTimers,
  cellsById,
  executionsByCell,
  notebookStateFromServer,
  noticeTexts,
  openPage,
  readyMessage,
  resetPageAroundTests,
  sessionSnapshot,
  userCommands,
  wireCell,
} from "./fakePage";
import { type ApiAnswers, socketAt } from "./fakeServer";

resetPageAroundTests();

describe("incoming messages", () => {
  it("are applied once, in order, and only those of /agent", async () => {
    await openPage();
    await acceptConnections();
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
    await advanceTimers();
    expect(executionsByCell().a?.outputs).toEqual([{ output_type: "stream", name: "stdout", text: "one two three" }]);
  });

  it("are applied in a hidden page too", async () => {
    vi.stubGlobal("requestAnimationFrame", () => 1);
    await openPage();
    await acceptConnections();
    expect(Object.keys(cellsById())).toEqual(["a", "b"]);
  });

  it("of a deleted cell are ignored", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").receive(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 },
      { type: "kernel_stdio", active_cell: "a", stream: "stdout", data: "late", seq: 13 },
    );
    await advanceTimers();
    expect(executionsByCell().a).toBeUndefined();
  });

  it("report a new kernel and a new session", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").receive(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 },
      { type: "eval_result", case_id: "x" },
    );
    socketAt("/run").receive({ type: "managed_process_exit", name: "kernel", exit_code: 1 });
    await advanceTimers();
    expect(sessionSnapshot().store.get()).toMatchObject({ notebook: { kernel: "dead" }, verdict: { case_id: "x" } });
    expect(userCommands()).toMatchObject({ canRun: false, canRestart: true });
    expect(userCommands().runProblem).toContain("The attempt has ended");
    expect(sessionSnapshot().kernelPid).toBe(0);
    expect(executionsByCell().a?.status).toBe("error");
    socketAt("/run").receive({ ...readyMessage, kernel_pid: 100 });
    socketAt("/agent").receive(notebookStateFromServer(2, [wireCell("a")]));
    await advanceTimers();
    expect(sessionSnapshot().store.get()).toMatchObject({ notebook: { kernel: "running", seq: 2 }, verdict: null });
    expect(sessionSnapshot().store.get().agent.conversation).toEqual([]);
  });

  it("report what the server could not do", async () => {
    await openPage();
    await acceptConnections();
    userCommands().runCell("a");
    await advanceTimers();
    expect(executionsByCell().a?.pending).toBe(true);
    socketAt("/run").receive({ type: "error", data: { message: "there is no kernel to run_cell" } });
    await advanceTimers();
    expect(noticeTexts()).toEqual(["There is no kernel. Restart it to go on."]);
    expect(executionsByCell().a).toMatchObject({ pending: false, status: "idle" });
  });
});

describe("an agent that has ended", () => {
  const exit = (exit_code: number, signal = "") => ({ type: "managed_process_exit", name: "agent", exit_code, signal });
  const eventTexts = () =>
    sessionSnapshot()
      .store.get()
      .agent.conversation.map((item) => (item.kind === "event" || item.kind === "error" ? item.text : item.kind));

  it("is reported in the conversation: its cause, that it was restarted, and when the next one is ready", async () => {
    await openPage();
    await acceptConnections();
    userCommands().restart("agent");
    socketAt("/run").receive(exit(-1, "SIGTERM"));
    socketAt("/agent").receive({ type: "agent_status", status: "ready", seq: 12 });
    await advanceTimers();
    const restarted = [expect.stringContaining("to be restarted"), expect.stringContaining("was restarted")];
    expect(eventTexts()).toEqual(restarted);
    socketAt("/run").receive(exit(-1, "SIGKILL"));
    userCommands().restart("agent");
    await advanceTimers();
    socketAt("/agent").receive({ type: "agent_status", status: "ready", seq: 13 });
    await advanceTimers();
    expect(eventTexts()).toEqual([...restarted, "The agent has ended: SIGKILL.", restarted[1]]);
  });

  it("and cannot be restarted is reported with the reason", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/run").receive(exit(1), {
      type: "error",
      data: { message: "managed_process_restart: agent exited with status 3: no key" },
    });
    await advanceTimers();
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
    sessionSnapshot()
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
    socketAt("/run").receive(readyMessage);
    socketAt("/agent").open();
    socketAt("/agent").receive(notebookStateFromServer(2, []));
    socketAt("/agent").receive({ ...entry(3, "three").msg, seq: 3 }, { ...entry(4, "four").msg, seq: 4 });
    await advanceTimers();
    expect(texts_()).toEqual(["one", "two", "three", "four"]);
  });

  it("is loaded from where it was in the same session, and in full for another one", async () => {
    const answers: ApiAnswers = {
      "/api/sessions/s1": { trace: "t" },
      [path]: { entries: [entry(5, "old")], next: null },
    };
    const asked = await openPage("view", answers);
    await acceptConnections();
    const again = async () => {
      socketAt("/run").drop(1006);
      await advanceTimers(1000);
      await acceptConnections();
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
    socketAt("/run").receive(readyMessage);
    socketAt("/agent").open();
    socketAt("/agent").receive(one.msg, entry(5, "two").msg);
    await advanceTimers();
    expect(texts_()).toEqual(["one", "two"]);
  });

  it("is reported if it cannot be loaded, and new messages are shown", async () => {
    await openPage("view", { "/api/sessions/s1": Response.json({ text: "broken disk" }, { status: 500 }) });
    await acceptConnections();
    socketAt("/agent").receive({ ...entry(11, "now").msg, seq: 11 });
    await advanceTimers();
    expect(noticeTexts()).toEqual(["What was said before could not be loaded: broken disk."]);
    expect(texts_()).toEqual(["now"]);
  });
});

describe("requests", () => {
  it("are settled by their own answers", async () => {
    await openPage();
    await acceptConnections();
    const [first, second] = [userCommands().setWidget("a/w", 1), userCommands().setWidget("a/w", { n: 2 })];
    const results = Promise.allSettled([first, second]);
    const run = socketAt("/run");
    const [one, two] = run.sentOf("set_widget_value");
    expect([one?.data, two?.data]).toEqual([{ "a/w": "1" }, { "a/w": '{"n":2}' }]);
    const type = "set_widget_value_response";
    run.receive({ type, agent_tx_id: two?.agent_tx_id, status: "success", errors: {} });
    run.receive({ type, agent_tx_id: one?.agent_tx_id, status: "error", errors: { "a/w": "too large" } });
    await advanceTimers();
    expect(await results).toMatchObject([{ reason: { message: "too large" } }, { status: "fulfilled" }]);
  });

  it("time out", async () => {
    await openPage();
    await acceptConnections();
    const asked = expect(userCommands().reactivity()).rejects.toThrow("the server did not answer");
    await advanceTimers(20_000);
    await asked;
  });

  it("send a query to the agent, show it, and cancel it", async () => {
    await openPage();
    await acceptConnections();
    userCommands().query("do it");
    await advanceTimers();
    const [query] = socketAt("/agent").sentOf("agent_query");
    expect(sessionSnapshot().store.get().agent).toMatchObject({
      request: query?.request_id,
      conversation: [{ text: "do it" }],
    });
    userCommands().cancel();
    expect(socketAt("/agent").sentOf("agent_cancel")).toEqual([
      { type: "agent_cancel", request_id: query?.request_id },
    ]);
    socketAt("/agent").receive({ type: "agent_error", error: "there is no agent" });
    expect(noticeTexts()).toEqual(["there is no agent"]);
  });
});
