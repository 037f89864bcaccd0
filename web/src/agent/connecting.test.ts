import { describe, expect, it, vi } from "vitest";
import { setToken } from "../api/client";
import { begin, commands, connect, eachTestOnAnEmptyPage, leave, live, pass, ready, stateOf, texts } from "./fakePage";
import { type Answers, FakeSocket, socketAt, socketsAt } from "./fakeServer";

eachTestOnAnEmptyPage();

describe("connecting", () => {
  it("names itself at /run, then at /agent by the number that it was given, and says so", async () => {
    await begin();
    expect(live().connection.state).toBe("wsConnecting");
    const run = socketAt("/run");
    expect(new URL(run.url).search).toBe("?session=s1");
    run.open();
    expect(run.sent).toEqual([{ token: "local-dev-token", notebook_id: expect.any(String), alive: true }]);
    run.says(ready);
    const agent = socketAt("/agent");
    agent.open();
    expect(agent.sent).toEqual([
      {
        type: "init",
        session_id: expect.any(Number),
        connection_idx: 7,
        role: "view",
        token: "local-dev-token",
        alive: true,
      },
    ]);
    expect(live().connection.state).toBe("wsConnecting");
    agent.says(stateOf(1, []));
    expect(live().connection.state).toBe("connected");
    expect(console.info).toHaveBeenCalledWith("[AgentConnection] Connected");
    expect(live()).toMatchObject({ language: "python", kernelPid: 99, commands: { canRun: true } });
  });

  it("comes back as the same console, and later each time", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    expect(live().connection).toMatchObject({ state: "disconnected", code: 1006 });
    expect(console.info).toHaveBeenCalledWith("[AgentConnection] Disconnected (1006)");
    expect(commands()).toMatchObject({ canRun: false, whyNot: "There is no connection to the server." });
    const gaps: number[] = [];
    for (let i = 0; i < 8; i++) {
      const tries = socketsAt("/run").length;
      const from = Date.now();
      while (socketsAt("/run").length === tries) await pass(10);
      gaps.push(Math.round((Date.now() - from) / 10) * 10);
      socketAt("/run").drop(1006);
    }
    expect(gaps).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    live().connection.retry();
    await pass(0);
    expect(live().connection.state).toBe("wsConnecting");
    await connect();
    const inits = socketsAt("/agent").flatMap(({ sent }) => sent.filter(({ type }) => type === "init"));
    expect(inits).toHaveLength(2);
    expect(inits[1]).toEqual(inits[0]);
  });

  it.each(["online", "visibilitychange"])("does not wait longer at %s", async (event) => {
    await begin();
    socketAt("/run").drop(1006);
    const tries = FakeSocket.all.length;
    (event === "online" ? window : document).dispatchEvent(new Event(event));
    await pass(0);
    expect(FakeSocket.all).toHaveLength(tries + 1);
  });

  it.each([
    [1001, "the server is stopping", true],
    [1008, "wrong token", false],
    [1008, "unknown role", false],
    [1008, "too slow: too much was waiting", true],
    [1008, "no sign of life for 30s", true],
    [1009, "", false],
    [1006, "", true],
    [1011, "", true],
    [4001, "this console has connected again", false],
    [4009, "another console holds this notebook", false],
  ])("after %i %s comes back by itself: %s", async (code, reason, back) => {
    await begin();
    await connect();
    const tries = FakeSocket.all.length;
    socketAt("/agent").drop(code, reason);
    expect(live().connection).toMatchObject({ code, reason });
    expect(live().connection.retryAt !== null).toBe(back);
    await pass(60_000);
    expect(FakeSocket.all.length > tries).toBe(back);
  });

  it("gives up on a server that does not answer, and tries again", async () => {
    await begin();
    await pass(9_750);
    expect(live().connection).toMatchObject({ state: "disconnected", reason: "the server does not answer" });
    expect(live().connection.retryAt).not.toBeNull();
  });

  it("is left alone by what cannot be read", async () => {
    await begin();
    await connect();
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const agent = socketAt("/agent");
    for (const data of ["{", "[]", "null", "7", '{"type":7}', new ArrayBuffer(3), undefined])
      agent.onmessage?.({ data });
    agent.says(
      { type: "notebook_state" },
      { type: "agent_event", seq: "x" },
      { type: "error" },
      { type: "nobody_knows" },
    );
    await pass();
    expect(live().connection.state).toBe("connected");
  });

  it("ends with the page, and nothing more is tried", async () => {
    await begin();
    await connect();
    leave();
    const tries = FakeSocket.all.length;
    await pass(60_000);
    expect(FakeSocket.all).toHaveLength(tries);
    expect(FakeSocket.all.every(({ readyState }) => readyState === 3)).toBe(true);
  });
});

describe("a session that is not open to all", () => {
  const path = "/api/sessions/s1";
  const refusal = () => Response.json({ code: "unauthorized", text: "no" }, { status: 401 });

  it("asks for a token, and for another one when it is refused", async () => {
    const answers: Answers = { [path]: refusal() };
    await begin("view", answers, false);
    expect(live()).toMatchObject({ needToken: true, tokenRefused: null });
    expect(FakeSocket.all).toEqual([]);
    live().submitToken("wrong");
    await pass();
    expect(live()).toMatchObject({ needToken: true, tokenRefused: "The server has refused that token." });
    answers[path] = { state: "running" };
    live().submitToken("right");
    await pass();
    expect(live()).toMatchObject({ needToken: false, phase: "running" });
    socketAt("/run").open();
    expect(socketAt("/run").sent).toMatchObject([{ token: "right" }]);
  });

  it("asks again when a socket refuses the token", async () => {
    setToken("old");
    await begin("view", { [path]: { state: "running" } }, false);
    socketAt("/run").open();
    socketAt("/run").drop(1008, "wrong token");
    expect(live()).toMatchObject({ needToken: true, tokenRefused: "The server has refused that token." });
  });

  it("is waited for while it starts, and says when it cannot", async () => {
    const answers: Answers = { [path]: { state: "starting" } };
    await begin("view", answers, false);
    expect(live().phase).toBe("starting");
    expect(FakeSocket.all).toEqual([]);
    answers[path] = { state: "stopped", problem: "no kernel" };
    await pass(2000);
    expect(live().phase).toBe("stopped");
    expect(texts()).toEqual(["The session could not start: no kernel"]);
    expect(FakeSocket.all).toHaveLength(1);
  });

  it("is come back to under the number that the console was given last, and in which session", async () => {
    await begin("view", { [path]: { state: "running" } }, false);
    const come = async (trace: unknown) => {
      live().connection.retry();
      await pass(20);
      await connect();
      socketAt("/run").says({ ...ready, trace });
      const [hello] = socketAt("/run").sent;
      socketAt("/run").drop(1006);
      return hello;
    };
    expect(await come("one")).not.toHaveProperty("connection_idx");
    expect(await come("two")).toMatchObject({ connection_idx: 7, trace: "one" });
    expect(await come(7)).toMatchObject({ connection_idx: 7, trace: "two" });
    expect(await come("two")).not.toHaveProperty("connection_idx");
  });

  it("is only looked at when another console owns it, until that one goes", async () => {
    await begin("view", { [path]: { state: "running" } }, false);
    socketAt("/run").open();
    socketAt("/run").says({ ...ready, session_owner: false });
    socketAt("/agent").open();
    socketAt("/agent").says(stateOf(1, []));
    expect(live()).toMatchObject({
      sessionOwner: false,
      commands: { canRun: false, whyNot: "Another console owns this session." },
    });
    socketAt("/run").says({ ...ready, session_owner: true });
    expect(live()).toMatchObject({ sessionOwner: true, commands: { canRun: true } });
  });
});
