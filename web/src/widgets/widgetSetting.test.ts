import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWidgetSetting, type WidgetSetting } from "./widgetSetting";

interface SentValue {
  value: unknown;
  accept: () => Promise<void>;
  refuse: (text: string) => Promise<void>;
}

/** Returns a fake kernel whose responses and reported values the test controls. */
function createFakeKernel(first: unknown) {
  const listeners = new Set<() => void>();
  const sent: SentValue[] = [];
  let word: { value: unknown } | null = { value: first };
  const state = { idle: true };
  const source = {
    reportedValue: () => word,
    isKernelIdle: () => state.idle,
    subscribe: (f: () => void) => {
      listeners.add(f);
      return () => listeners.delete(f);
    },
  };
  const settled = () => vi.advanceTimersByTimeAsync(0);
  const send = (value: unknown) =>
    new Promise<void>((resolve, reject) => {
      sent.push({
        value,
        accept: async () => {
          resolve();
          await settled();
        },
        refuse: async (text) => {
          reject(new Error(text));
          await settled();
        },
      });
    });
  const notify = () => {
    for (const f of [...listeners]) f();
  };
  return {
    source,
    sent,
    send,
    listeners,
    tell(value: unknown) {
      word = { value };
      notify();
    },
    run(on: boolean) {
      state.idle = !on;
      notify();
    },
  };
}

function shownValue(setting: WidgetSetting, word: unknown): unknown {
  const { requested } = setting.view();
  return requested === null ? word : requested.value;
}

describe("createSetting", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("shows the set value until the kernel reports it", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(5, { send: k.send });
    expect(setting.view()).toEqual({ requested: { value: 5 }, phase: "sent", refusal: null });
    await k.sent[0]?.accept();
    expect(setting.view().phase).toBe("accepted");
    k.tell(5);
    expect(setting.view()).toEqual({ requested: null, phase: "idle", refusal: null });
    expect(k.listeners.size).toBe(0);
  });

  it("shows the kernel's value and the reason when a value is refused", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(500, { send: k.send });
    await k.sent[0]?.refuse("500 is above max, 9");
    expect(setting.view()).toEqual({
      requested: null,
      phase: "idle",
      refusal: { text: "500 is above max, 9", kernelValueJson: "1" },
    });
    setting.set(5, { send: k.send });
    expect(setting.view().refusal).toBeNull();
  });

  it("treats a send that throws as a refusal", async () => {
    const setting = createWidgetSetting(createFakeKernel(1).source);
    setting.set(2, {
      send: () => {
        throw new Error("not connected");
      },
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(setting.view().refusal?.text).toBe("not connected");
  });

  it("ignores the response to an older value", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(2, { send: k.send });
    setting.set(3, { send: k.send });
    await k.sent[1]?.accept();
    await k.sent[0]?.refuse("too late");
    expect(setting.view()).toEqual({ requested: { value: 3 }, phase: "accepted", refusal: null });
  });

  it("ignores the report of an older value", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(2, { send: k.send });
    setting.set(3, { send: k.send });
    await k.sent[0]?.accept();
    await k.sent[1]?.accept();
    k.tell(2);
    expect(shownValue(setting, 2)).toBe(3);
    k.tell(3);
    expect(setting.view().requested).toBeNull();
  });

  it("shows a value that somebody else set after its own was accepted", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(2, { send: k.send });
    k.tell(7);
    expect(shownValue(setting, 7)).toBe(2);
    await k.sent[0]?.accept();
    k.tell(8);
    expect(shownValue(setting, 8)).toBe(8);
  });

  it("does not wait for a report of a value that the kernel already has", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    setting.set(1, { send: k.send });
    await k.sent[0]?.accept();
    expect(setting.view().requested).toBeNull();
  });

  it("shows an accepted value while a cell runs and for two seconds after", async () => {
    const k = createFakeKernel(1);
    const setting = createWidgetSetting(k.source);
    k.run(true);
    setting.set(2, { send: k.send });
    await k.sent[0]?.accept();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(shownValue(setting, 1)).toBe(2);
    k.run(false);
    await vi.advanceTimersByTimeAsync(1_900);
    expect(shownValue(setting, 1)).toBe(2);
    await vi.advanceTimersByTimeAsync(200);
    expect(shownValue(setting, 1)).toBe(1);
  });

  it("keeps the minimum interval between sends and always sends the last value", async () => {
    const k = createFakeKernel(0);
    const setting = createWidgetSetting(k.source);
    for (let value = 1; value <= 25; value++) {
      setting.set(value, { send: k.send, minSendInterval: 100 });
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(k.sent.map(({ value }) => value)).toEqual([1, 10, 20, 25]);
  });

  it("flush sends a waiting value at once, and only once", async () => {
    const k = createFakeKernel(0);
    const setting = createWidgetSetting(k.source);
    setting.set(1, { send: k.send, minSendInterval: 100 });
    setting.set(2, { send: k.send, minSendInterval: 100 });
    setting.flush();
    setting.flush();
    await vi.advanceTimersByTimeAsync(500);
    expect(k.sent.map(({ value }) => value)).toEqual([1, 2]);
  });

  it("ignores a response while a newer value is not sent yet", async () => {
    const k = createFakeKernel(0);
    const setting = createWidgetSetting(k.source);
    setting.set(1, { send: k.send, minSendInterval: 100 });
    setting.set(2, { send: k.send, minSendInterval: 100 });
    await k.sent[0]?.accept();
    k.tell(1);
    expect(shownValue(setting, 1)).toBe(2);
  });

  it("finishes a button press when it is accepted, and shows no value for it", async () => {
    const k = createFakeKernel(0);
    const setting = createWidgetSetting(k.source);
    setting.set(true, { send: k.send, isPress: true });
    expect(setting.view()).toEqual({ requested: null, phase: "sent", refusal: null });
    await k.sent[0]?.accept();
    expect(setting.view().phase).toBe("idle");
  });
});
