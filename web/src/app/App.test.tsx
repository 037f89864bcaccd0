import { act, cleanup, render, screen } from "@testing-library/react";
import { Suspense } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { LoadErrorBoundary } from "../ui/LoadErrorBoundary";
import { lazyPart } from "../ui/lazyPart";
import { ConfigGate } from "./ConfigGate";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("reports a page that cannot be loaded", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const Page = lazyPart(() => Promise.reject<() => null>(new Error("no such file")));
  render(
    <LoadErrorBoundary>
      <Suspense>
        <Page />
      </Suspense>
    </LoadErrorBoundary>,
  );
  expect((await screen.findByRole("alert")).textContent).toContain("This part of the page could not be loaded.");
  expect(screen.getByRole("button", { name: "Reload the page" })).toBeDefined();
});

it("gives up waiting for a server that does not answer", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  render(<ConfigGate>there</ConfigGate>);
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(screen.getByRole("alert").textContent).toContain("The server does not answer.");
  expect(screen.getByRole("button", { name: "Try again" })).toBeDefined();
});
