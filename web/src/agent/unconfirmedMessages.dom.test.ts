import { describe, expect, it, vi } from "vitest";
import {
  acceptConnections,
  advanceTimers,
  loadPage,
  noticeTexts,
  openPage,
  readyMessage,
  resetPageAroundTests,
  sessionSnapshot,
  userCommands,
} from "./fakePage";
import { type ApiAnswers, socketAt } from "./fakeServer";
import { ViewDocumentOwner } from "./view";

resetPageAroundTests();

const sessionPath = "/api/sessions/s1";

async function queryAndDisconnect(answers: ApiAnswers): Promise<string> {
  await openPage("view", answers);
  await acceptConnections();
  userCommands().query("What is there?");
  await advanceTimers();
  return String(socketAt("/agent").sentOf("agent_query")[0]?.request_id);
}

async function dropAndReconnect(): Promise<void> {
  socketAt("/agent").drop(1006);
  await advanceTimers(300);
  await acceptConnections();
  await advanceTimers();
}

describe("a query to the agent", () => {
  it("that is not confirmed is reported and can be sent again", async () => {
    await queryAndDisconnect({});
    await dropAndReconnect();
    expect(noticeTexts()).toEqual([expect.stringContaining("What is there?")]);
    expect(sessionSnapshot().store.get().agent.conversation).toMatchObject([
      { text: "What is there?", label: "Not sent" },
    ]);
    sessionSnapshot().notices[0]?.action?.run();
    expect(socketAt("/agent").sentOf("agent_query")).toMatchObject([{ query: "What is there?" }]);
  });

  it("that the trace has is not reported", async () => {
    const entries: unknown[] = [];
    const id = await queryAndDisconnect({
      [sessionPath]: { trace: "t" },
      [`${sessionPath}/trace`]: () => ({ entries }),
    });
    const msg = { type: "agent_query", query: "What is there?", request_id: id };
    entries.push({ seq: 11, hop: "console>server", msg });
    socketAt("/agent").receive({ type: "agent_status", status: "thinking", seq: 14 });
    await advanceTimers();
    await dropAndReconnect();
    expect(noticeTexts()).toEqual([]);
  });

  it("that the agent has answered is not reported", async () => {
    const request_id = await queryAndDisconnect({});
    socketAt("/agent").receive({ type: "agent_event", text: "", metadata: { type: "begun", request_id }, seq: 12 });
    await advanceTimers();
    await dropAndReconnect();
    expect(noticeTexts()).toEqual([]);
  });
});

describe("an unconfirmed query when the page is reloaded", () => {
  const reported = [expect.stringContaining("What is there?")];
  const reload = async () => {
    await loadPage();
    await acceptConnections();
    await advanceTimers();
  };

  it("is reported and can be sent again, until it is sent or dismissed", async () => {
    await queryAndDisconnect({});
    await reload();
    expect(noticeTexts()).toEqual(reported);
    await reload();
    expect(noticeTexts()).toEqual(reported);
    const [notice] = sessionSnapshot().notices;
    notice?.action?.run();
    sessionSnapshot().dismiss(notice?.id ?? 0);
    const [asked] = socketAt("/agent").sentOf("agent_query");
    expect(asked).toMatchObject({ query: "What is there?" });
    const metadata = { type: "begun", request_id: asked?.request_id };
    socketAt("/agent").receive({ type: "agent_event", text: "", metadata, seq: 12 });
    await advanceTimers();
    await reload();
    expect(noticeTexts()).toEqual([]);
  });

  it("is not reported if the trace has it", async () => {
    const entries: unknown[] = [];
    const id = await queryAndDisconnect({
      [sessionPath]: { trace: "t" },
      [`${sessionPath}/trace`]: () => ({ entries }),
    });
    entries.push({ seq: 11, hop: "console>server", msg: { type: "agent_query", query: "?", request_id: id } });
    await reload();
    expect(noticeTexts()).toEqual([]);
  });

  it("is ignored if the saved query cannot be read", async () => {
    sessionStorage.setItem("assay.asked.s1", '[{"type":"agent_query","query":7},null,"x"]');
    await openPage();
    await acceptConnections();
    expect(noticeTexts()).toEqual([]);
  });
});

it("reports a restart that is not confirmed", async () => {
  await openPage();
  await acceptConnections();
  userCommands().restart("kernel");
  socketAt("/run").receive({ ...readyMessage, kernel_pid: 100 });
  userCommands().restart("agent");
  await dropAndReconnect();
  expect(noticeTexts()).toEqual([expect.stringContaining("it is unknown whether the agent was restarted")]);
});

it("shows the agent's messages if the trace cannot be loaded", async () => {
  await openPage("view");
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  await acceptConnections();
  socketAt("/agent").receive({ type: "agent_history_updated", entry: { role: "assistant", content: "hi" }, seq: 12 });
  await advanceTimers(9000);
  expect(sessionSnapshot().store.get().agent.conversation).toEqual([]);
  await advanceTimers(1500);
  expect(sessionSnapshot().store.get().agent.conversation).toMatchObject([{ text: "hi" }]);
  expect(noticeTexts()).toEqual(["What was said before could not be loaded: the server does not answer."]);
});

it("says why the page cannot start, and tries again", async () => {
  const load = vi.spyOn(ViewDocumentOwner.prototype, "load").mockRejectedValueOnce(new Error("out of order"));
  await openPage();
  expect(noticeTexts()).toEqual(["The page could not begin: out of order"]);
  load.mockRestore();
  sessionSnapshot().notices[0]?.action?.run();
  await advanceTimers();
  await acceptConnections();
  expect(sessionSnapshot().connection.state).toBe("connected");
});

it.each(["view", "holder"] as const)("connects as a %s where storage is forbidden", async (role) => {
  const forbidden = () => {
    throw new DOMException("no", "SecurityError");
  };
  const storage = { getItem: forbidden, setItem: forbidden, removeItem: forbidden, clear: () => undefined };
  vi.stubGlobal("sessionStorage", storage);
  vi.stubGlobal("indexedDB", { open: forbidden });
  await openPage(role);
  await acceptConnections();
  expect(sessionSnapshot().connection.state).toBe("connected");
});
