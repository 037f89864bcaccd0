import { describe, expect, it, vi } from "vitest";
import { begin, connect, eachTestOnAnEmptyPage, leave, live, pass } from "./fakePage";
import { socketAt, socketsAt } from "./fakeServer";

eachTestOnAnEmptyPage();

const alive = { type: "alive", every_ms: 20_000 };
const state = () => live().connection.state;

async function come(): Promise<void> {
  await begin();
  await connect();
  socketAt("/run").says(alive);
  socketAt("/agent").says(alive);
}

describe("a connection of which nothing is heard", () => {
  it.each(["/run", "/agent"] as const)("is given up at %s, said to be lost, and made anew", async (dead) => {
    await come();
    const other = dead === "/run" ? "/agent" : "/run";
    for (let i = 0; i < 3; i++) {
      await pass(10_000);
      socketAt(other).says(alive);
    }
    expect(state()).toBe("connected");
    const tries = socketsAt("/run").length;
    await pass(5_000);
    expect(live().connection).toMatchObject({
      state: "disconnected",
      code: 1006,
      reason: "the server does not answer",
    });
    await pass(300);
    expect(socketsAt("/run")).toHaveLength(tries + 1);
    await connect();
    expect(state()).toBe("connected");
  });

  it("is waited for longer when one was given up before: it may be slow", async () => {
    await come();
    await pass(35_300);
    await connect();
    socketAt("/run").says(alive);
    socketAt("/agent").says(alive);
    await pass(60_000);
    expect(state()).toBe("connected");
    await pass(6_000);
    expect(state()).not.toBe("connected");
  });

  it("stays while the server gives signs of life, or says anything", async () => {
    await come();
    for (let i = 0; i < 30; i++) {
      await pass(20_000);
      socketAt("/run").says(i % 2 === 0 ? alive : { type: "nobody_knows" });
      socketAt("/agent").says(i % 2 === 0 ? { type: "agent_status", status: "ready", seq: 11 + i } : alive);
    }
    expect(state()).toBe("connected");
    expect(socketsAt("/run")).toHaveLength(1);
  });

  it("stays when the page was asleep, and then reads what has come meanwhile", async () => {
    await come();
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.spyOn(performance, "now").mockImplementation(() => Date.now());
    await pass(31_000);
    expect(state()).toBe("connected");
    socketAt("/run").says(alive);
    socketAt("/agent").says(alive);
    await pass(10_000);
    expect(state()).toBe("connected");
  });

  it("of a server that promises none, or nonsense, is left alone", async () => {
    await begin();
    await connect();
    for (const every_ms of [undefined, null, "20", -1, 0, Number.MAX_VALUE, [1]]) {
      socketAt("/run").says({ type: "alive", every_ms });
      socketAt("/agent").says({ type: "alive", every_ms });
    }
    await pass(600_000);
    expect(state()).toBe("connected");
  });

  it("is not looked at any more when the page is left", async () => {
    await come();
    leave();
    expect(vi.getTimerCount()).toBe(0);
  });
});
