import { describe, expect, it, vi } from "vitest";
import { setToken } from "../api/client";
import {
  acceptConnections,
  advanceTimers,
  leavePage,
  notebookStateFromServer,
  noticeTexts,
  openPage,
  readyMessage,
  resetPageAroundTests,
  sessionSnapshot,
  userCommands,
} from "./fakePage";
import { type ApiAnswers, FakeSocket, socketAt, socketsAt } from "./fakeServer";

resetPageAroundTests();

describe("connecting", () => {
  it("authenticates at /run, then at /agent with the number it was given, and logs that it is connected", async () => {
    await openPage();
    expect(sessionSnapshot().connection.state).toBe("wsConnecting");
    const run = socketAt("/run");
    expect(new URL(run.url).search).toBe("?session=s1");
    run.open();
    expect(run.sent).toEqual([{ token: "local-dev-token", notebook_id: expect.any(String), alive: true }]);
    run.receive(readyMessage);
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
    expect(sessionSnapshot().connection.state).toBe("wsConnecting");
    agent.receive(notebookStateFromServer(1, []));
    expect(sessionSnapshot().connection.state).toBe("connected");
    expect(console.info).toHaveBeenCalledWith("[AgentConnection] Connected");
    expect(sessionSnapshot()).toMatchObject({ language: "python", kernelPid: 99, commands: { canRun: true } });
  });

  it("reconnects as the same console, after growing delays", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    expect(sessionSnapshot().connection).toMatchObject({ state: "disconnected", code: 1006 });
    expect(console.info).toHaveBeenCalledWith("[AgentConnection] Disconnected (1006)");
    expect(userCommands()).toMatchObject({ canRun: false, runProblem: "There is no connection to the server." });
    const gaps: number[] = [];
    for (let i = 0; i < 8; i++) {
      const tries = socketsAt("/run").length;
      const from = Date.now();
      while (socketsAt("/run").length === tries) await advanceTimers(10);
      gaps.push(Math.round((Date.now() - from) / 10) * 10);
      socketAt("/run").drop(1006);
    }
    expect(gaps).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    sessionSnapshot().connection.retry();
    await advanceTimers(0);
    expect(sessionSnapshot().connection.state).toBe("wsConnecting");
    await acceptConnections();
    const inits = socketsAt("/agent").flatMap(({ sent }) => sent.filter(({ type }) => type === "init"));
    expect(inits).toHaveLength(2);
    expect(inits[1]).toEqual(inits[0]);
  });

  it.each(["online", "visibilitychange"])("retries at once at %s", async (event) => {
    await openPage();
    socketAt("/run").drop(1006);
    const tries = FakeSocket.all.length;
    (event === "online" ? window : document).dispatchEvent(new Event(event));
    await advanceTimers(0);
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
  ])("after %i %s reconnects without the user: %s", async (code, reason, back) => {
    await openPage();
    await acceptConnections();
    const tries = FakeSocket.all.length;
    socketAt("/agent").drop(code, reason);
    expect(sessionSnapshot().connection).toMatchObject({ code, reason });
    expect(sessionSnapshot().connection.retryAt !== null).toBe(back);
    await advanceTimers(60_000);
    expect(FakeSocket.all.length > tries).toBe(back);
  });

  it("gives up on a server that does not answer, and tries again", async () => {
    await openPage();
    await advanceTimers(9_750);
    expect(sessionSnapshot().connection).toMatchObject({ state: "disconnected", reason: "the server does not answer" });
    expect(sessionSnapshot().connection.retryAt).not.toBeNull();
  });

  it("ignores messages that cannot be read", async () => {
    await openPage();
    await acceptConnections();
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const agent = socketAt("/agent");
    for (const data of ["{", "[]", "null", "7", '{"type":7}', new ArrayBuffer(3), undefined])
      agent.onmessage?.({ data });
    agent.receive(
      { type: "notebook_state" },
      { type: "agent_event", seq: "x" },
      { type: "error" },
      { type: "unknown_type" },
    );
    await advanceTimers();
    expect(sessionSnapshot().connection.state).toBe("connected");
  });

  it("ends with the page and does not reconnect", async () => {
    await openPage();
    await acceptConnections();
    leavePage();
    const tries = FakeSocket.all.length;
    await advanceTimers(60_000);
    expect(FakeSocket.all).toHaveLength(tries);
    expect(FakeSocket.all.every(({ readyState }) => readyState === 3)).toBe(true);
  });
});

describe("a session that requires a token", () => {
  const path = "/api/sessions/s1";
  const refusal = () => Response.json({ code: "unauthorized", text: "no" }, { status: 401 });

  it("asks for a token, and for another one after a refusal", async () => {
    const answers: ApiAnswers = { [path]: refusal() };
    await openPage("view", answers, false);
    expect(sessionSnapshot()).toMatchObject({ needsToken: true, tokenRefusal: null });
    expect(FakeSocket.all).toEqual([]);
    sessionSnapshot().submitToken("wrong");
    await advanceTimers();
    expect(sessionSnapshot()).toMatchObject({ needsToken: true, tokenRefusal: "The server has refused this token." });
    answers[path] = { state: "running" };
    sessionSnapshot().submitToken("right");
    await advanceTimers();
    expect(sessionSnapshot()).toMatchObject({ needsToken: false, phase: "running" });
    socketAt("/run").open();
    expect(socketAt("/run").sent).toMatchObject([{ token: "right" }]);
  });

  it("asks for a token again when a socket refuses it", async () => {
    setToken("old");
    await openPage("view", { [path]: { state: "running" } }, false);
    socketAt("/run").open();
    socketAt("/run").drop(1008, "wrong token");
    expect(sessionSnapshot()).toMatchObject({ needsToken: true, tokenRefusal: "The server has refused this token." });
  });

  it("waits while the session starts, and reports why it cannot", async () => {
    const answers: ApiAnswers = { [path]: { state: "starting" } };
    await openPage("view", answers, false);
    expect(sessionSnapshot().phase).toBe("starting");
    expect(FakeSocket.all).toEqual([]);
    answers[path] = { state: "stopped", problem: "no kernel" };
    await advanceTimers(2000);
    expect(sessionSnapshot().phase).toBe("stopped");
    expect(noticeTexts()).toEqual(["The session could not start: no kernel"]);
    expect(FakeSocket.all).toHaveLength(1);
  });

  it("reconnects with the number that the console was given last in this session", async () => {
    await openPage("view", { [path]: { state: "running" } }, false);
    const reconnect = async (trace: unknown) => {
      sessionSnapshot().connection.retry();
      await advanceTimers(20);
      await acceptConnections();
      socketAt("/run").receive({ ...readyMessage, trace });
      const [login] = socketAt("/run").sent;
      socketAt("/run").drop(1006);
      return login;
    };
    expect(await reconnect("one")).not.toHaveProperty("connection_idx");
    expect(await reconnect("two")).toMatchObject({ connection_idx: 7, trace: "one" });
    expect(await reconnect(7)).toMatchObject({ connection_idx: 7, trace: "two" });
    expect(await reconnect("two")).not.toHaveProperty("connection_idx");
  });

  it("is read-only while another console owns the session", async () => {
    await openPage("view", { [path]: { state: "running" } }, false);
    socketAt("/run").open();
    socketAt("/run").receive({ ...readyMessage, session_owner: false });
    socketAt("/agent").open();
    socketAt("/agent").receive(notebookStateFromServer(1, []));
    expect(sessionSnapshot()).toMatchObject({
      isOwner: false,
      commands: { canRun: false, runProblem: "Another console owns this session." },
    });
    socketAt("/run").receive({ ...readyMessage, session_owner: true });
    expect(sessionSnapshot()).toMatchObject({ isOwner: true, commands: { canRun: true } });
  });
});
