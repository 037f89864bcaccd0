import { act, cleanup, fireEvent, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { requestedHeightOf, SandboxedFrame } from "./SandboxedFrame";

let reportIntersection: (intersecting: boolean) => void;
let createdChannels: { port1: FakeMessagePort; port2: object }[];

interface FakeMessagePort {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage: ReturnType<typeof vi.fn>;
  close: ReturnType<typeof vi.fn>;
}

beforeEach(() => {
  vi.useFakeTimers();
  createdChannels = [];
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(f: (entries: { isIntersecting: boolean }[]) => void) {
        reportIntersection = (isIntersecting) => act(() => f([{ isIntersecting }]));
      }
      observe() {}
      disconnect() {}
    },
  );
  vi.stubGlobal(
    "MessageChannel",
    class {
      port1: FakeMessagePort = { onmessage: null, postMessage: vi.fn(), close: vi.fn() };
      port2 = {};
      constructor() {
        createdChannels.push(this);
      }
    },
  );
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const advanceTimersMs = (ms: number) => act(() => vi.advanceTimersByTime(ms));

function renderSandboxedFrame() {
  const of = {};
  const frame = (
    <SandboxedFrame page="html" content={{ html: "<p>x</p>" }} title="HTML output" height={120} outputKey={of} />
  );
  const { container, unmount } = render(frame);
  const iframe = () => container.querySelector("iframe");
  const height = () => (container.firstElementChild as HTMLElement).style.height;
  return { frame, iframe, height, unmount };
}

test("a frame is mounted when it comes near the viewport, and removed a minute after it is gone", () => {
  const { iframe } = renderSandboxedFrame();
  expect(iframe()).toBeNull();
  reportIntersection(true);
  expect(iframe()).toBeNull();
  advanceTimersMs(200);
  expect(iframe()).not.toBeNull();
  reportIntersection(false);
  advanceTimersMs(30_000);
  expect(iframe()).not.toBeNull();
  advanceTimersMs(31_000);
  expect(iframe()).toBeNull();
});

test("a frame that is near for less than 120 ms is not loaded", () => {
  const { iframe } = renderSandboxedFrame();
  reportIntersection(true);
  advanceTimersMs(50);
  reportIntersection(false);
  advanceTimersMs(1000);
  expect(iframe()).toBeNull();
});

test("a frame is sandboxed and has no permissions", () => {
  const { iframe } = renderSandboxedFrame();
  reportIntersection(true);
  advanceTimersMs(200);
  expect(iframe()?.getAttribute("sandbox")).toBe("allow-scripts");
  expect(iframe()?.getAttribute("allow")).toBe("");
  expect(iframe()?.getAttribute("src")).toBe("/frame/html.html");
});

test("a frame gets its content once, and nothing when it has navigated", () => {
  const { iframe } = renderSandboxedFrame();
  reportIntersection(true);
  advanceTimersMs(200);
  const frame = iframe() as HTMLIFrameElement;
  const post = vi.fn();
  Object.defineProperty(frame, "contentWindow", { value: { postMessage: post } });
  fireEvent.load(frame);
  fireEvent.load(frame);
  expect(post).toHaveBeenCalledTimes(1);
  expect(post).toHaveBeenCalledWith({ html: "<p>x</p>", theme: "light" }, "*", [createdChannels[0]?.port2]);
});

test("a frame can report its height within limits; other messages are ignored, and the height is remembered", () => {
  const { frame, iframe, height, unmount } = renderSandboxedFrame();
  reportIntersection(true);
  advanceTimersMs(200);
  fireEvent.load(iframe() as HTMLIFrameElement);
  const say = (data: unknown) => act(() => createdChannels[0]?.port1.onmessage?.({ data }));
  say({ height: 333.2 });
  expect(height()).toBe("334px");
  for (const odd of [null, "900", 5, {}, { height: "900" }, { height: Number.NaN }, { html: "<b>", heights: 900 }])
    say(odd);
  expect(height()).toBe("334px");
  say({ height: 1e9 });
  expect(height()).toBe("2000px");
  unmount();
  expect(createdChannels[0]?.port1.close).toHaveBeenCalled();
  const again = render(frame).container.firstElementChild as HTMLElement;
  expect(again.style.height).toBe("2000px");
});

test.each([
  [{ height: -5 }, 20],
  [{ height: 100 }, 100],
  [{ height: Number.POSITIVE_INFINITY }, null],
  [Object.create({ height: 50 }), 50],
])("requestedHeightOf limits the height in %j", (data, want) => {
  expect(requestedHeightOf(data)).toBe(want);
});
