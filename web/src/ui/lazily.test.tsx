import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { Component, type ReactNode, Suspense } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { forgetFailures, lazily } from "./lazily";
import { TryAgain } from "./TryAgain";

afterEach(() => {
  cleanup();
  forgetFailures();
  document.head.replaceChildren();
});

class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };
  static getDerivedStateFromError() {
    return { failed: true };
  }
  override render() {
    return this.state.failed ? <TryAgain onTry={() => this.setState({ failed: false })} /> : this.props.children;
  }
}

function Hello({ name }: { name: string }) {
  return <p>hello {name}</p>;
}

async function draw(load: () => Promise<typeof Hello>): Promise<void> {
  const Part = lazily(load);
  await act(async () => {
    render(
      <Boundary>
        <Suspense fallback="loading">
          <Part name="you" />
        </Suspense>
      </Boundary>,
    );
  });
}

test("what could not be loaded is loaded when it is tried again, and asked for once each time", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const load = vi.fn(async () => Hello);
  load.mockRejectedValueOnce(new Error("gone")).mockRejectedValueOnce(new Error("still gone"));
  await draw(load);
  expect(load).toHaveBeenCalledTimes(1);
  expect(screen.getByRole("button", { name: "Reload the page" })).toBeDefined();
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(load).toHaveBeenCalledTimes(2);
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(screen.getByText("hello you")).toBeDefined();
  expect(load).toHaveBeenCalledTimes(3);
});

test("what was loaded is kept, and what fails to be drawn is not for the page to be loaded again", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  let broken = true;
  const load = vi.fn(async () => () => {
    if (broken) throw new Error("a fault");
    return <p>mended</p>;
  });
  await draw(load);
  expect(screen.queryByRole("button", { name: "Reload the page" })).toBeNull();
  broken = false;
  await act(async () => fireEvent.click(screen.getByRole("button", { name: "Try again" })));
  expect(screen.getByText("mended")).toBeDefined();
  expect(load).toHaveBeenCalledTimes(1);
});

test("styles that did not come are asked for again, and waited for", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const link = document.createElement("link");
  link.rel = "stylesheet";
  const secret = {
    get cssRules() {
      throw new DOMException("no", "SecurityError");
    },
  };
  Object.defineProperty(link, "sheet", { value: secret }); // as in Chromium
  document.head.append(link);
  const load = vi.fn(async () => Hello);
  load.mockRejectedValueOnce(new Error("no styles"));
  await draw(load);
  const retry = async () => {
    await act(async () => fireEvent.click(screen.getByText("Try again")));
    const [again, ...more] = document.head.querySelectorAll("link");
    expect(more).toEqual([]);
    expect(screen.queryByText("hello you")).toBeNull();
    return again;
  };
  await act(async () => (await retry())?.dispatchEvent(new Event("error")));
  const again = await retry();
  expect(again).not.toBe(link);
  await act(async () => again?.dispatchEvent(new Event("load")));
  expect(screen.getByText("hello you")).toBeDefined();
});
