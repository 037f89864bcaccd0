import { act, render, screen } from "@testing-library/react";
import { StrictMode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { FakeSocket, fakeServer, socketAt } from "./fakeServer";
import { useAgent } from "./useAgent";

const publicConfig = {
  eval_sandbox: true,
  default_session: "default",
  version: "",
  console: true,
  console_role: "view",
  cases: false,
} as const;

function LiveSessionStatus() {
  const { connection, commands } = useAgent(publicConfig, "default", "view");
  return <p role="status">{`${connection.state} ${commands?.canRun}`}</p>;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

it("connects once while the component is mounted", async () => {
  fakeServer();
  vi.spyOn(console, "info").mockImplementation(() => undefined);
  const { unmount } = render(
    <StrictMode>
      <LiveSessionStatus />
    </StrictMode>,
  );
  await vi.waitFor(() => expect(FakeSocket.all).toHaveLength(1));
  expect(screen.getByRole("status").textContent).toBe("wsConnecting false");
  act(() => {
    socketAt("/run").open();
    socketAt("/run").receive({ type: "ready", connection_idx: 1, kernel_status: "running" });
    socketAt("/agent").open();
    socketAt("/agent").receive({ type: "notebook_state", seq: 1, cells: [], runs: {} });
  });
  expect(screen.getByRole("status").textContent).toBe("connected true");
  unmount();
  expect(FakeSocket.all.every(({ readyState }) => readyState === 3)).toBe(true);
  expect(FakeSocket.all).toHaveLength(2);
});
