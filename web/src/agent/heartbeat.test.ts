import { describe, expect, it, vi } from "vitest";
import { advance, connect, leavePage, live, openPage, startEachTestEmpty } from "./fakePage";
import { socketAt, socketsAt } from "./fakeServer";

startEachTestEmpty();

const alive = { type: "alive", every_ms: 20_000 };
const state = () => live().connection.state;

async function connectWithHeartbeat(): Promise<void> {
  await openPage();
  await connect();
  socketAt("/run").receive(alive);
  socketAt("/agent").receive(alive);
}

describe("a silent connection", () => {
  it.each(["/run", "/agent"] as const)("at %s is closed, reported as lost, and made anew", async (dead) => {
    await connectWithHeartbeat();
    const other = dead === "/run" ? "/agent" : "/run";
    for (let i = 0; i < 3; i++) {
      await advance(10_000);
      socketAt(other).receive(alive);
    }
    expect(state()).toBe("connected");
    const tries = socketsAt("/run").length;
    await advance(5_000);
    expect(live().connection).toMatchObject({
      state: "disconnected",
      code: 1006,
      reason: "the server does not answer",
    });
    await advance(300);
    expect(socketsAt("/run")).toHaveLength(tries + 1);
    await connect();
    expect(state()).toBe("connected");
  });

  it("is given more time if one was closed before: the connection may be slow", async () => {
    await connectWithHeartbeat();
    await advance(35_300);
    await connect();
    socketAt("/run").receive(alive);
    socketAt("/agent").receive(alive);
    await advance(60_000);
    expect(state()).toBe("connected");
    await advance(6_000);
    expect(state()).not.toBe("connected");
  });

  it("stays open while the server sends anything", async () => {
    await connectWithHeartbeat();
    for (let i = 0; i < 30; i++) {
      await advance(20_000);
      socketAt("/run").receive(i % 2 === 0 ? alive : { type: "unknown_type" });
      socketAt("/agent").receive(i % 2 === 0 ? { type: "agent_status", status: "ready", seq: 11 + i } : alive);
    }
    expect(state()).toBe("connected");
    expect(socketsAt("/run")).toHaveLength(1);
  });

  it("stays open after the page was asleep, and then receives what came meanwhile", async () => {
    await connectWithHeartbeat();
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.spyOn(performance, "now").mockImplementation(() => Date.now());
    await advance(31_000);
    expect(state()).toBe("connected");
    socketAt("/run").receive(alive);
    socketAt("/agent").receive(alive);
    await advance(10_000);
    expect(state()).toBe("connected");
  });

  it("stays open if the server announces no interval, or nonsense", async () => {
    await openPage();
    await connect();
    for (const every_ms of [undefined, null, "20", -1, 0, Number.MAX_VALUE, [1]]) {
      socketAt("/run").receive({ type: "alive", every_ms });
      socketAt("/agent").receive({ type: "alive", every_ms });
    }
    await advance(600_000);
    expect(state()).toBe("connected");
  });

  it("is not watched after the page is left", async () => {
    await connectWithHeartbeat();
    leavePage();
    expect(vi.getTimerCount()).toBe(0);
  });
});
