import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { Component, type ReactNode, Suspense } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { forgetLoadFailures, lazyPart } from "./lazyPart";
import { RetryButtons } from "./RetryButtons";

afterEach(() => {
  cleanup();
  document.head.replaceChildren(); // first, so that forgetLoadFailures loads none of the links again
  forgetLoadFailures();
});

class TestErrorBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };
  static getDerivedStateFromError() {
    return { failed: true };
  }
  override render() {
    return this.state.failed ? <RetryButtons onTry={() => this.setState({ failed: false })} /> : this.props.children;
  }
}

function GreetingPart({ name }: { name: string }) {
  return <p>hello {name}</p>;
}

async function renderLazyPart(load: () => Promise<typeof GreetingPart>): Promise<void> {
  const Part = lazyPart(load);
  await act(async () => {
    render(
      <TestErrorBoundary>
        <Suspense fallback="loading">
          <Part name="you" />
        </Suspense>
      </TestErrorBoundary>,
    );
  });
}

test("loads a failed part again on retry, once each time", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const load = vi.fn(async () => GreetingPart);
  load.mockRejectedValueOnce(new Error("gone")).mockRejectedValueOnce(new Error("still gone"));
  await renderLazyPart(load);
  expect(load).toHaveBeenCalledTimes(1);
  expect(screen.getByRole("button", { name: "Reload the page" })).toBeDefined();
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(load).toHaveBeenCalledTimes(2);
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(screen.getByText("hello you")).toBeDefined();
  expect(load).toHaveBeenCalledTimes(3);
});

test("keeps a loaded part, and does not offer a reload if rendering fails", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let broken = true;
  const load = vi.fn(async () => () => {
    if (broken) throw new Error("a fault");
    return <p>mended</p>;
  });
  await renderLazyPart(load);
  expect(screen.queryByRole("button", { name: "Reload the page" })).toBeNull();
  broken = false;
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(screen.getByText("mended")).toBeDefined();
  expect(load).toHaveBeenCalledTimes(1);
});

test("requests failed styles again and waits for them", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const link = document.createElement("link");
  link.rel = "stylesheet";
  const unreadableSheet = {
    get cssRules() {
      throw new DOMException("no", "SecurityError");
    },
  };
  Object.defineProperty(link, "sheet", { value: unreadableSheet }); // as in Chromium
  document.head.append(link);
  const load = vi.fn(async () => GreetingPart);
  load.mockRejectedValueOnce(new Error("no styles"));
  await renderLazyPart(load);
  const retryAndFindLink = async () => {
    await act(async () => fireEvent.click(screen.getByText("Try again")));
    const [again, ...more] = document.head.querySelectorAll("link");
    expect(more).toEqual([]);
    expect(screen.queryByText("hello you")).toBeNull();
    return again;
  };
  await act(async () => (await retryAndFindLink())?.dispatchEvent(new Event("error")));
  const again = await retryAndFindLink();
  expect(again).not.toBe(link);
  await act(async () => again?.dispatchEvent(new Event("load")));
  expect(screen.getByText("hello you")).toBeDefined();
});
