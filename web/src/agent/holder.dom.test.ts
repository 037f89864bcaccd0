import { describe, expect, it } from "vitest";
import {
  advanceTimers,
  cellsById,
  executionsByCell,
  loadPage,
  noticeTexts,
  openPage,
  readyMessage,
  resetPageAroundTests,
  sessionSnapshot,
  userCommands,
} from "./fakePage";
import { socketAt } from "./fakeServer";

resetPageAroundTests();

describe("a holder", () => {
  const sendAction = (action: string, params: unknown, tx_id = "tx_1") =>
    socketAt("/agent").receive({ type: "agent_action", action, params, tx_id });
  const responses = () => socketAt("/agent").sentOf("agent_action_response");

  async function connectHolder(): Promise<void> {
    socketAt("/run").open();
    socketAt("/run").receive(readyMessage);
    socketAt("/agent").open();
    await advanceTimers();
  }

  it("answers the agent before it sends to the kernel, and records who made the change", async () => {
    await openPage("holder");
    await connectHolder();
    expect(sessionSnapshot().connection.state).toBe("connected");
    sendAction("create_cell", { position: 0, cell_type: "code", source: "1", auto_run: true });
    const id = responses()[0]?.cell_id;
    expect(responses()).toEqual([
      { type: "agent_action_response", tx_id: "tx_1", status: "success", cell_id: id, tf_id: id },
    ]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: id, code: "1" }]);
    expect(cellsById()[String(id)]).toMatchObject({ source: "1", lastChange: { by: "agent" } });
    expect(executionsByCell()[String(id)]?.pending).toBe(true);
  });

  it("carries out the user's commands and shows the kernel's messages of /run", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "code", "x");
    userCommands().runCell(id);
    socketAt("/run").receive(
      { type: "start_cell", cell_id: id, run_sequencer: 1 },
      { type: "kernel_stdio", active_cell: id, stream: "stdout", data: "hi" },
    );
    await advanceTimers();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: id, code: "x" }]);
    expect(executionsByCell()[id]?.outputs).toEqual([{ output_type: "stream", name: "stdout", text: "hi" }]);
    await expect(userCommands().moveCell(id, 4)).rejects.toThrow("position: expected an integer from 0 to 0");
    await userCommands().deleteCell(id);
    expect(socketAt("/run").sentOf("dispose_cell")).toEqual([{ type: "dispose_cell", cell_id: id }]);
    expect(sessionSnapshot().store.get().notebook.order).toEqual([]);
  });

  it("reports a conflict between an edit of the agent and the user's text", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "code", "x");
    userCommands().editCell(id, "mine");
    sendAction("edit_cell", { cell_id: id, source: "theirs" });
    await advanceTimers(500);
    expect(cellsById()[id]?.source).toBe("theirs");
    sessionSnapshot().conflicts[id]?.keepMine();
    await advanceTimers();
    expect(cellsById()[id]).toMatchObject({ source: "mine", rev: 3 });
  });

  it("restores its notebook and the status of the cells when the page is reloaded", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "markdown", "kept");
    await advanceTimers(500);
    await loadPage("holder");
    socketAt("/run").open();
    socketAt("/run").receive({ ...readyMessage, cell_status: { [id]: "ran" }, cell_sequencers: { [id]: 5 } });
    await advanceTimers();
    expect(cellsById()[id]).toMatchObject({ source: "kept", type: "markdown" });
    expect(executionsByCell()[id]).toMatchObject({ status: "ran", sequencer: 5 });
  });

  it("starts the next attempt with an empty notebook, but keeps it when the user restarts the kernel", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "code", "of the first");
    socketAt("/agent").receive({ type: "eval_result", case_id: "one" });
    await advanceTimers();
    userCommands().restart("kernel");
    socketAt("/run").receive({ ...readyMessage, kernel_pid: 100 });
    await advanceTimers();
    expect(cellsById()[id]).toBeDefined();
    socketAt("/agent").receive({ type: "eval_result", case_id: "two" });
    socketAt("/run").receive({ ...readyMessage, kernel_pid: 101 });
    await advanceTimers();
    expect(sessionSnapshot().store.get().notebook.order).toEqual([]);
    sessionSnapshot().notices[0]?.action?.run();
    expect(Object.values(cellsById()).map(({ source }) => source)).toEqual(["of the first"]);
  });

  it("keeps its notebook when the connection breaks after a verdict, and when the owner changes", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "code", "kept");
    socketAt("/agent").receive({ type: "eval_result", case_id: "one" });
    await advanceTimers();
    socketAt("/run").drop(1006);
    await advanceTimers(300);
    await connectHolder();
    expect(sessionSnapshot().store.get().verdict).toMatchObject({ case_id: "one" });
    socketAt("/run").receive(readyMessage);
    await advanceTimers(500);
    expect(cellsById()[id]?.source).toBe("kept");
    await loadPage("holder");
    expect(cellsById()[id]?.source).toBe("kept");
  });

  describe("that reconnects to another attempt", () => {
    const readyOf = (case_id: string, kernel_pid: number) => ({
      ...readyMessage,
      case_id,
      kernel_pid,
      trace: `${case_id}.jsonl`,
    });
    const previous = {
      type: "eval_result",
      case_id: "one",
      outcome: "console_lost",
      outcome_detail: "away for 31s",
      passed: null,
    };
    const reconnect = async (readyMessage: object) => {
      socketAt("/run").open();
      socketAt("/run").receive(readyMessage);
      socketAt("/agent").open();
      await advanceTimers();
    };
    const sources = () => Object.values(cellsById()).map(({ source }) => source);
    const offer = "Another attempt has begun with an empty notebook. The previous notebook is saved.";

    async function typeWhileAway(): Promise<void> {
      await openPage("holder", { "/api/sessions/s1": { trace: "two.jsonl", previous } });
      await reconnect(readyOf("one", 99));
      const id = await userCommands().createCell(0, "code", "before");
      socketAt("/run").drop(1006);
      userCommands().editCell(id, "typed while away");
    }

    it("starts empty, offers the previous cells, and reports how the previous attempt ended", async () => {
      await typeWhileAway();
      await advanceTimers(500);
      await reconnect(readyOf("two", 100));
      expect(sources()).toEqual([]);
      expect(noticeTexts()).toEqual([
        "While this page was disconnected, the attempt at one ended: console lost (away for 31s)",
        offer,
      ]);
      sessionSnapshot().notices[1]?.action?.run();
      expect(sources()).toEqual(["typed while away"]);
    });

    it("offers them again after a reload, until they are restored or dismissed", async () => {
      await typeWhileAway();
      await loadPage("holder");
      await reconnect(readyOf("two", 100));
      await loadPage("holder");
      await reconnect(readyOf("two", 100));
      expect(noticeTexts()).toEqual([offer]);
      expect(sources()).toEqual([]);
      const [notice] = sessionSnapshot().notices;
      notice?.action?.run();
      sessionSnapshot().dismiss(notice?.id ?? 0);
      expect(sources()).toEqual(["typed while away"]);
      await loadPage("holder");
      expect(noticeTexts()).toEqual([]);
    });

    it("keeps its notebook in the same attempt", async () => {
      await typeWhileAway();
      await advanceTimers(500);
      await reconnect(readyOf("one", 101));
      expect(sources()).toEqual(["typed while away"]);
      expect(noticeTexts()).toEqual([]);
    });

    it("does not report a verdict that it has received", async () => {
      await openPage("holder", { "/api/sessions/s1": { trace: "two.jsonl", previous } });
      await reconnect(readyOf("one", 99));
      socketAt("/agent").receive(previous);
      socketAt("/run").drop(1006);
      await advanceTimers(500);
      await reconnect(readyOf("two", 100));
      expect(noticeTexts()).toEqual([]);
    });

    it("ignores malformed saved cells", async () => {
      await typeWhileAway();
      await loadPage("holder");
      const key = Object.keys(sessionStorage).find((name) => name.startsWith("assay.notebook.")) ?? "";
      sessionStorage.setItem(
        `${key.split(".attempt")[0]}.before`,
        '[7,null,{"source":{},"cell_type":"code"},{"cell_id":"r","source":"1","cell_type":"raw"}]',
      );
      await loadPage("holder");
      sessionSnapshot().notices[0]?.action?.run();
      await advanceTimers();
      expect(noticeTexts().at(-1)).toContain("Not all cells could be restored");
    });
  });

  it("reports cells that did not run when the connection broke", async () => {
    await openPage("holder");
    await connectHolder();
    const id = await userCommands().createCell(0, "code", "x");
    userCommands().runCell(id);
    await advanceTimers();
    socketAt("/run").drop(1006);
    await advanceTimers(300);
    await connectHolder();
    expect(noticeTexts()).toEqual(["A cell was not run: the connection was lost."]);
    expect(executionsByCell()[id]?.pending ?? false).toBe(false);
  });

  it("reports that another console holds the notebook", async () => {
    await openPage("holder");
    await connectHolder();
    socketAt("/agent").drop(4009, "another console holds this notebook");
    expect(sessionSnapshot().connection).toMatchObject({
      code: 4009,
      reason: "another console holds this notebook",
      retryAt: null,
    });
  });
});
