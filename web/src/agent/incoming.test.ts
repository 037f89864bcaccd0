import { describe, expect, it, vi } from "vitest";
import {
  begin,
  cell,
  cells,
  commands,
  connect,
  eachTestOnAnEmptyPage,
  live,
  pass,
  ready,
  runs,
  stateOf,
  texts,
} from "./fakePage";
import { type Answers, socketAt } from "./fakeServer";

eachTestOnAnEmptyPage();

describe("what comes", () => {
  it("is taken in once, in order, from /agent alone", async () => {
    await begin();
    await connect();
    const stdio = (seq: number, data: string) => ({
      type: "kernel_stdio",
      active_cell: "a",
      stream: "stdout",
      data,
      seq,
    });
    socketAt("/run").says(stdio(0, "twice"));
    const agent = socketAt("/agent");
    agent.says({ type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 }, stdio(12, "one "), stdio(13, "two "));
    agent.says(stdio(13, "two "), stdio(12, "one "), stdio(14, "three"));
    await pass();
    expect(runs().a?.outputs).toEqual([{ output_type: "stream", name: "stdout", text: "one two three" }]);
  });

  it("does not wait for a page that is not drawn", async () => {
    vi.stubGlobal("requestAnimationFrame", () => 1);
    await begin();
    await connect();
    expect(Object.keys(cells())).toEqual(["a", "b"]);
  });

  it("of a deleted cell is forgotten, and does not come back", async () => {
    await begin();
    await connect();
    socketAt("/agent").says(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 },
      { type: "kernel_stdio", active_cell: "a", stream: "stdout", data: "late", seq: 13 },
    );
    await pass();
    expect(runs().a).toBeUndefined();
  });

  it("says when kernel and session are others", async () => {
    await begin();
    await connect();
    socketAt("/agent").says(
      { type: "start_cell", cell_id: "a", run_sequencer: 1, seq: 11 },
      { type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 },
      { type: "eval_result", case_id: "x" },
    );
    socketAt("/run").says({ type: "managed_process_exit", name: "kernel", exit_code: 1 });
    await pass();
    expect(live().store.get()).toMatchObject({ notebook: { kernel: "dead" }, verdict: { case_id: "x" } });
    expect(commands()).toMatchObject({ canRun: false, canRestart: true });
    expect(commands().whyNot).toContain("The attempt has ended");
    expect(live().kernelPid).toBe(0);
    expect(runs().a?.status).toBe("error");
    socketAt("/run").says({ ...ready, kernel_pid: 100 });
    socketAt("/agent").says(stateOf(2, [cell("a")]));
    await pass();
    expect(live().store.get()).toMatchObject({ notebook: { kernel: "running", seq: 2 }, verdict: null });
    expect(live().store.get().agent.conversation).toEqual([]);
  });

  it("is told when the server could not do something", async () => {
    await begin();
    await connect();
    commands().runCell("a");
    await pass();
    expect(runs().a?.pending).toBe(true);
    socketAt("/run").says({ type: "error", data: { message: "there is no kernel to run_cell" } });
    await pass();
    expect(texts()).toEqual(["There is no kernel. Restart it to go on."]);
    expect(runs().a).toMatchObject({ pending: false, status: "idle" });
  });
});

describe("an agent that has ended", () => {
  const exit = (exit_code: number, signal = "") => ({ type: "managed_process_exit", name: "agent", exit_code, signal });
  const happened = () =>
    live()
      .store.get()
      .agent.conversation.map((item) => (item.kind === "event" || item.kind === "error" ? item.text : item.kind));

  it("says so in the conversation: what killed it, or that it was restarted, and when another has come", async () => {
    await begin();
    await connect();
    commands().restart("agent");
    socketAt("/run").says(exit(-1, "SIGTERM"));
    socketAt("/agent").says({ type: "agent_status", status: "ready", seq: 12 });
    await pass();
    const restarted = [expect.stringContaining("to be restarted"), expect.stringContaining("was restarted")];
    expect(happened()).toEqual(restarted);
    socketAt("/run").says(exit(-1, "SIGKILL"));
    commands().restart("agent");
    await pass();
    socketAt("/agent").says({ type: "agent_status", status: "ready", seq: 13 });
    await pass();
    expect(happened()).toEqual([...restarted, "The agent has ended: SIGKILL.", restarted[1]]);
  });

  it("and cannot be started again says there why", async () => {
    await begin();
    await connect();
    socketAt("/run").says(exit(1), {
      type: "error",
      data: { message: "managed_process_restart: agent exited with status 3: no key" },
    });
    await pass();
    expect(happened()).toEqual([
      "The agent has ended: exit code 1.",
      "It could not be started again: agent exited with status 3: no key",
    ]);
  });
});

describe("what was said before", () => {
  const entry = (seq: number, text: string) => ({
    seq,
    hop: "agent>server",
    msg: { type: "agent_history_updated", entry: { role: "assistant", content: text } },
  });
  const path = "/api/sessions/s1/trace";
  const said = () =>
    live()
      .store.get()
      .agent.conversation.map((item) => ("text" in item ? item.text : ""));

  it("comes page by page, before what is said meanwhile, and once", async () => {
    const trace = (url: URL) => {
      const from = Number(url.searchParams.get("from"));
      return from <= 1
        ? { entries: [entry(1, "one"), entry(2, "two")], next: 3 }
        : { entries: [entry(3, "three")], next: null };
    };
    await begin("view", { "/api/sessions/s1": { trace: "t" }, [path]: trace });
    socketAt("/run").open();
    socketAt("/run").says(ready);
    socketAt("/agent").open();
    socketAt("/agent").says(stateOf(2, []));
    socketAt("/agent").says({ ...entry(3, "three").msg, seq: 3 }, { ...entry(4, "four").msg, seq: 4 });
    await pass();
    expect(said()).toEqual(["one", "two", "three", "four"]);
  });

  it("is asked for from where it was, in the same session; in another one, all of it", async () => {
    const answers: Answers = { "/api/sessions/s1": { trace: "t" }, [path]: { entries: [entry(5, "old")], next: null } };
    const asked = await begin("view", answers);
    await connect();
    const again = async () => {
      socketAt("/run").drop(1006);
      await pass(1000);
      await connect();
    };
    answers[path] = { entries: [entry(8, "meanwhile")], next: null };
    await again();
    expect(said()).toEqual(["old", "meanwhile"]);
    answers["/api/sessions/s1"] = { trace: "another" };
    answers[path] = { entries: [entry(3, "new")], next: null };
    await again();
    expect(said()).toEqual(["new"]);
    const from = asked.filter(({ pathname }) => pathname === path).map(({ searchParams }) => searchParams.get("from"));
    expect(from).toEqual(["1", "6", "1"]);
  });

  it("is not shown twice to a holder, whose frames have no seq", async () => {
    const one = entry(4, "one");
    await begin("holder", { "/api/sessions/s1": { trace: "t" }, [path]: { entries: [one], next: null } });
    socketAt("/run").open();
    socketAt("/run").says(ready);
    socketAt("/agent").open();
    socketAt("/agent").says(one.msg, entry(5, "two").msg);
    await pass();
    expect(said()).toEqual(["one", "two"]);
  });

  it("is told of when it cannot be had, and what is said now is shown", async () => {
    await begin("view", { "/api/sessions/s1": Response.json({ text: "broken disk" }, { status: 500 }) });
    await connect();
    socketAt("/agent").says({ ...entry(11, "now").msg, seq: 11 });
    await pass();
    expect(texts()).toEqual(["What was said before could not be loaded: broken disk."]);
    expect(said()).toEqual(["now"]);
  });
});

describe("asking", () => {
  it("settles each question by its own answer", async () => {
    await begin();
    await connect();
    const [first, second] = [commands().setWidget("a/w", 1), commands().setWidget("a/w", { n: 2 })];
    const results = Promise.allSettled([first, second]);
    const run = socketAt("/run");
    const [one, two] = run.sentOf("set_widget_value");
    expect([one?.data, two?.data]).toEqual([{ "a/w": "1" }, { "a/w": '{"n":2}' }]);
    const type = "set_widget_value_response";
    run.says({ type, agent_tx_id: two?.agent_tx_id, status: "success", errors: {} });
    run.says({ type, agent_tx_id: one?.agent_tx_id, status: "error", errors: { "a/w": "too large" } });
    await pass();
    expect(await results).toMatchObject([{ reason: { message: "too large" } }, { status: "fulfilled" }]);
  });

  it("does not wait for ever", async () => {
    await begin();
    await connect();
    const asked = expect(commands().reactivity()).rejects.toThrow("the server did not answer");
    await pass(20_000);
    await asked;
  });

  it("gives the agent its query, shows it, and cancels that one", async () => {
    await begin();
    await connect();
    commands().query("do it");
    await pass();
    const [query] = socketAt("/agent").sentOf("agent_query");
    expect(live().store.get().agent).toMatchObject({ request: query?.request_id, conversation: [{ text: "do it" }] });
    commands().cancel();
    expect(socketAt("/agent").sentOf("agent_cancel")).toEqual([
      { type: "agent_cancel", request_id: query?.request_id },
    ]);
    socketAt("/agent").says({ type: "agent_error", error: "there is no agent" });
    expect(texts()).toEqual(["there is no agent"]);
  });
});
