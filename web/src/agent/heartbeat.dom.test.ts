import { describe, expect, it, vi } from "vitest";
import {
  acceptConnections,
  advanceTimers,
  leavePage,
  openPage,
  resetPageAroundTests,
  sessionSnapshot,
} from "./fakePage";
import { socketAt, socketsAt } from "./fakeServer";

resetPageAroundTests();

const aliveMessage = { type: "alive", every_ms: 20_000 };
const connectionState = () => sessionSnapshot().connection.state;

async function connectWithHeartbeat(): Promise<void> {
  await openPage();
  await acceptConnections();
  socketAt("/run").receive(aliveMessage);
  socketAt("/agent").receive(aliveMessage);
}

describe("a silent connection", () => {
  it.each(["/run", "/agent"] as const)("at %s is closed, reported as lost, and made anew", async (dead) => {
    await connectWithHeartbeat();
    const other = dead === "/run" ? "/agent" : "/run";
    for (let i = 0; i < 3; i++) {
      await advanceTimers(10_000);
      socketAt(other).receive(aliveMessage);
    }
    expect(connectionState()).toBe("connected");
    const tries = socketsAt("/run").length;
    await advanceTimers(5_000);
    expect(sessionSnapshot().connection).toMatchObject({
      state: "disconnected",
      code: 1006,
      reason: "the server does not answer",
    });
    await advanceTimers(300);
    expect(socketsAt("/run")).toHaveLength(tries + 1);
    await acceptConnections();
    expect(connectionState()).toBe("connected");
  });

  it("is given more time if one was closed before: the connection may be slow", async () => {
    await connectWithHeartbeat();
    await advanceTimers(35_300);
    await acceptConnections();
    socketAt("/run").receive(aliveMessage);
    socketAt("/agent").receive(aliveMessage);
    await advanceTimers(60_000);
    expect(connectionState()).toBe("connected");
    await advanceTimers(6_000);
    expect(connectionState()).not.toBe("connected");
  });

  it("stays open while the server sends anything", async () => {
    await connectWithHeartbeat();
    for (let i = 0; i < 30; i++) {
      await advanceTimers(20_000);
      socketAt("/run").receive(i % 2 === 0 ? aliveMessage : { type: "unknown_type" });
      socketAt("/agent").receive(i % 2 === 0 ? { type: "agent_status", status: "ready", seq: 11 + i } : aliveMessage);
    }
    expect(connectionState()).toBe("connected");
    expect(socketsAt("/run")).toHaveLength(1);
  });

  it("stays open after the page was asleep, and then receives what came meanwhile", async () => {
    await connectWithHeartbeat();
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.spyOn(performance, "now").mockImplementation(() => Date.now());
    await advanceTimers(31_000);
    expect(connectionState()).toBe("connected");
    socketAt("/run").receive(aliveMessage);
    socketAt("/agent").receive(aliveMessage);
    await advanceTimers(10_000);
    expect(connectionState()).toBe("connected");
  });

  it("stays open if the server announces no interval, or nonsense", async () => {
    await openPage();
    await acceptConnections();
    for (const every_ms of [undefined, null, "20", -1, 0, Number.MAX_VALUE, [1]]) {
      socketAt("/run").receive({ type: "alive", every_ms });
      socketAt("/agent").receive({ type: "alive", every_ms });
    }
    await advanceTimers(600_000);
    expect(connectionState()).toBe("connected");
  });

  it("is not watched after the page is left", async () => {
    await connectWithHeartbeat();
    leavePage();
    expect(vi.getTimerCount()).toBe(0);
  });
});
