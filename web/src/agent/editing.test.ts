import { describe, expect, it, vi } from "vitest";
import {
  actions,
  advance,
  answerAction,
  cell,
  cells,
  commands,
  connect,
  edited,
  executions,
  leavePage,
  live,
  loadAndLeave,
  loadPage,
  noticeTexts,
  openPage,
  startEachTestEmpty,
  stateOf,
} from "./fakePage";
import { socketAt } from "./fakeServer";

startEachTestEmpty();

describe("editing", () => {
  it("sends an edit when typing pauses, with the rev it is based on, and what was typed meanwhile afterwards", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "x");
    commands().editCell("a", "x =");
    await advance(200);
    expect(actions()).toEqual([]);
    await advance(300);
    expect(actions()).toMatchObject([{ action: "edit_cell", params: { cell_id: "a", source: "x =", rev: 1 } }]);
    commands().editCell("a", "x = 1");
    await advance(5000);
    expect(actions()).toHaveLength(1);
    await answerAction({ cell_id: "a" }, [edited("a", "x =", 2, 11)]);
    await advance(500);
    expect(actions()[1]).toMatchObject({ params: { source: "x = 1", rev: 2 } });
    await answerAction({ cell_id: "a" }, [edited("a", "x = 1", 3, 12)]);
    await advance(5000);
    expect(actions()).toHaveLength(2);
  });

  it("sends an edit after two seconds of uninterrupted typing", async () => {
    await openPage();
    await connect();
    for (let n = 1; n <= 12; n++) {
      commands().editCell("a", "x".repeat(n));
      await advance(200);
    }
    expect(actions()).toHaveLength(1);
    await answerAction({ cell_id: "a" }, [edited("a", "x".repeat(10), 2, 11)]);
    await advance(500);
    expect(actions().at(-1)).toMatchObject({ params: { source: "x".repeat(12), rev: 2 } });
  });

  it("runs what was typed, after it is stored", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "typed");
    commands().runCell("a");
    await advance();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answerAction({ cell_id: "a" }, [edited("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "typed" }]);
    commands().runCell("b");
    await advance();
    expect(socketAt("/run").sentOf("run_cell")[1]).toEqual({ type: "run_cell", cell_id: "b" });
    expect(executions().b).toMatchObject({ pending: true, status: "running" });
  });

  it("runs cells in the order of the commands, also when one has to be stored first", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "typed");
    commands().runCell("a");
    commands().runCell("b");
    await advance();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answerAction({ cell_id: "a" }, [edited("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ cell_id: "a" }, { cell_id: "b" }]);
  });

  const stale = { status: "error", error: "edit_cell: rev: expected 2, found 1", source: "theirs", rev: 2 };

  it("does not overwrite another edit: the user chooses between both texts", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "mine");
    await advance(500);
    await answerAction(stale, [edited("a", "theirs", 2, 11, "agent")]);
    expect(live().conflicts).toMatchObject({ a: { theirs: "theirs" } });
    expect(cells().a?.source).toBe("theirs");
    commands().editCell("a", "mine too");
    commands().runCell("a");
    await advance(1000);
    expect(actions()).toHaveLength(1);
    expect(noticeTexts()).toEqual(["The cell was not run: somebody else has changed it meanwhile."]);
    socketAt("/agent").receive(edited("a", "theirs again", 3, 12, "agent"));
    await advance();
    expect(live().conflicts.a?.theirs).toBe("theirs again");
    live().conflicts.a?.keepMine();
    expect(live().conflicts).toEqual({});
    expect(actions()[1]).toMatchObject({ params: { source: "mine too", rev: 3 } });
  });

  it("discards the user's text for the other one", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "mine");
    await advance(500);
    await answerAction(stale, [edited("a", "theirs", 2, 11, "agent")]);
    live().conflicts.a?.takeTheirs();
    await advance(5000);
    expect(live().conflicts).toEqual({});
    expect(actions()).toHaveLength(1);
  });

  it("reports no conflict if both texts are the same", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "theirs");
    await advance(500);
    await answerAction(stale, [edited("a", "theirs", 2, 11, "agent")]);
    expect(live().conflicts).toEqual({});
    await advance(5000);
    expect(actions()).toHaveLength(1);
  });

  it("keeps an edit while there is no connection and sends it afterwards", async () => {
    await openPage();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed while away");
    await advance(300);
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "typed while away", rev: 1 } }]);
  });

  it("recognises an edit that was sent when the connection broke", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "sent");
    await advance(500);
    expect(actions()).toHaveLength(1);
    socketAt("/agent").drop(1006);
    commands().editCell("a", "sent and more");
    await advance(300);
    await connect(stateOf(12, [cell("a", "sent", 2)]));
    expect(actions()).toMatchObject([{ params: { source: "sent and more", rev: 1 } }]);
    await answerAction({ status: "error", error: "rev", source: "sent", rev: 2 });
    await advance(500);
    expect(live().conflicts).toEqual({});
    expect(actions()[1]).toMatchObject({ params: { source: "sent and more", rev: 2 } });
  });

  it("recognises an edit that arrived late at a stalled server, and sends what was typed since", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "one");
    await advance(500);
    const [first] = actions();
    commands().editCell("a", "one two");
    await advance(40_000);
    socketAt("/agent").receive(edited("a", "one", 2, 11), {
      type: "notebook_action_response",
      tx_id: first?.tx_id,
      status: "success",
    });
    await advance(500);
    expect(actions().at(-1)).toMatchObject({ params: { source: "one two", rev: 2 } });
    await answerAction({ cell_id: "a" }, [edited("a", "one two", 3, 12)]);
    socketAt("/agent").receive(edited("a", "theirs", 4, 13, "agent"));
    await advance(5000);
    expect(live().conflicts).toEqual({});
    expect(actions()).toHaveLength(2);
  });

  it("reports no conflict if a late edit was changed by somebody else at once", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "one");
    await advance(40_000);
    socketAt("/agent").receive(edited("a", "one", 2, 11), edited("a", "one, theirs", 3, 12, "agent"));
    await advance(500);
    commands().runCell("a");
    await advance(500);
    expect(live().conflicts).toEqual({});
    expect(cells().a?.source).toBe("one, theirs");
    expect(actions()).toHaveLength(1);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a" }]);
  });

  it("stores an edit over the text that it is based on, whatever rev that has by now", async () => {
    await openPage();
    await connect(stateOf(10, [cell("a", "x", 9)]));
    socketAt("/agent").drop(1001);
    commands().editCell("a", "xy");
    await advance(300);
    await connect(stateOf(3, [cell("a", "x", 2)]));
    await answerAction({ status: "error", error: "rev", source: "x", rev: 2 });
    expect(live().conflicts).toEqual({});
    expect(actions().at(-1)).toMatchObject({ params: { source: "xy", rev: 2 } });
  });

  it("saves an edit while it is typed and removes it when it is stored", async () => {
    await openPage();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed while away");
    await advance(500);
    const kept = () => sessionStorage.getItem("assay.edits.s1");
    expect(kept()).toContain("typed while away");
    await connect();
    await answerAction({ cell_id: "a" }, [edited("a", "typed while away", 2, 11)]);
    expect(kept()).toBeNull();
  });

  it("warns if there is no room to save an edit", async () => {
    await openPage();
    await connect();
    vi.stubGlobal("sessionStorage", {
      getItem: () => null,
      removeItem: () => undefined,
      clear: () => undefined,
      setItem: () => {
        throw new DOMException("full", "QuotaExceededError");
      },
    });
    socketAt("/agent").drop(1006);
    expect(noticeTexts()).toEqual([]);
    commands().editCell("a", "x".repeat(6 << 20));
    await advance(500);
    expect(noticeTexts()).toEqual([expect.stringContaining("There is no room to save what you typed")]);
  });

  it("offers the text of a cell that was deleted meanwhile", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "mine");
    await advance(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answerAction({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [gone]);
    const [notice] = live().notices;
    expect(notice?.text).toContain("Your text is not lost");
    notice?.action?.run();
    await advance();
    expect(actions().at(-1)).toMatchObject({ action: "create_cell", params: { source: "mine", position: 1 } });
  });

  it("offers no text of a deleted cell if the notebook has offered it", async () => {
    await openPage();
    await connect();
    live().store.subscribe(() => {
      if (cells().a === undefined) commands().keptInNotebook?.("a");
    });
    commands().editCell("a", "mine");
    await advance(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answerAction({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [gone]);
    commands().editCell("b", "mine");
    await advance(500);
    await answerAction(stale, [edited("b", "theirs", 2, 12, "agent")]);
    expect(Object.keys(live().conflicts)).toEqual(["b"]);
    live().store.subscribe(() => {
      if (cells().b === undefined) commands().keptInNotebook?.("b");
    });
    socketAt("/agent").receive({ ...gone, cell_id: "b", seq: 13 });
    await advance(5000);
    expect(live().conflicts).toEqual({});
    expect(noticeTexts()).toEqual([]);
  });

  it("runs the text as it was when run was pressed, and sends later text afterwards", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "one");
    commands().runCell("a");
    commands().editCell("a", "one two");
    await advance(1000);
    await answerAction({ cell_id: "a" }, [edited("a", "one", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "one" }]);
    await advance(500);
    expect(actions()[1]).toMatchObject({ params: { source: "one two", rev: 2 } });
  });

  it("runs that text also while an older edit is being sent", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "zero");
    await advance(500);
    commands().editCell("a", "one");
    commands().runCell("a");
    commands().editCell("a", "one two");
    await answerAction({}, [edited("a", "zero", 2, 11)]);
    expect(actions()[1]).toMatchObject({ params: { source: "one", rev: 2 } });
    await answerAction({}, [edited("a", "one", 3, 12)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ code: "one" }]);
  });

  it("restores a conflict when the page is reloaded", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "mine");
    await advance(500);
    await answerAction(stale, [edited("a", "theirs", 2, 11, "agent")]);
    await loadPage();
    await connect(stateOf(12, [cell("a", "theirs", 2), cell("b")]));
    await advance(1000);
    expect(actions()).toEqual([]);
    expect(live().conflicts).toMatchObject({ a: { mine: "mine", theirs: "theirs" } });
    expect(cells().a?.source).toBe("theirs");
  });

  it("shows saved text after a reload, or the conflict, before anything is typed over it", async () => {
    await openPage();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "mine a");
    commands().editCell("b", "mine b");
    await loadPage();
    await connect(stateOf(12, [cell("a", "theirs", 2), cell("b")]));
    expect(live().conflicts).toMatchObject({ a: { mine: "mine a", theirs: "theirs" } });
    expect(cells().b?.source).toBe("mine b");
    expect(actions()).toMatchObject([{ params: { cell_id: "b", source: "mine b", rev: 1 } }]);
  });

  it("keeps saved text if the page is reloaded before it has started", async () => {
    await openPage();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "mine");
    leavePage();
    loadAndLeave();
    await loadPage();
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "mine" } }]);
  });

  it("copies text that is typed while the type of the cell changes", async () => {
    await openPage();
    await connect();
    commands().editCell("a", "one");
    const changed = commands().changeType("a", "markdown");
    commands().editCell("a", "one two");
    const made = { type: "notebook_event", event: "cell_created", cell: cell("c", "one"), position: 0, seq: 11 };
    await answerAction({ cell_id: "c" }, [made]);
    await answerAction({}, [{ type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 }]);
    await expect(changed).resolves.toBe("c");
    await advance(500);
    expect(actions().at(-1)).toMatchObject({ params: { cell_id: "c", source: "one two" } });
  });

  it.each(["a person", "the agent"])("offers the text of a conflict when %s deletes the cell", async (who) => {
    await openPage();
    await connect();
    commands().editCell("a", "mine");
    await advance(500);
    await answerAction(stale, [edited("a", "theirs", 2, 11, "agent")]);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 };
    if (who === "a person") {
      const deleted = commands().deleteCell("a");
      await answerAction({}, [gone]);
      await deleted;
    } else socketAt("/agent").receive(gone);
    await advance();
    expect(live().conflicts).toEqual({});
    expect(noticeTexts()).toEqual([expect.stringContaining("Your text is not lost. It is: mine")]);
    live().notices[0]?.action?.run();
    await advance();
    expect(actions().at(-1)).toMatchObject({ action: "create_cell", params: { source: "mine" } });
  });

  it("keeps an edit when the page is reloaded", async () => {
    await openPage();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed last");
    await loadPage();
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "typed last", rev: 1 } }]);
  });
});

describe("a lost connection", () => {
  it("runs nothing twice, and reports cells that did not run", async () => {
    await openPage();
    await connect();
    commands().runCell("a");
    commands().runCell("b");
    await advance();
    socketAt("/run").drop(1006);
    commands().runCell("a");
    await advance(300);
    expect(noticeTexts()).toEqual(["The cell was not run: there is no connection."]);
    await connect(stateOf(20, [cell("a"), cell("b")], { cell_status: { b: "ran" }, cell_sequencers: { b: 1 } }));
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    expect(executions().a).toBeUndefined();
    expect(noticeTexts()[1]).toBe("A cell was not run: the connection was lost.");
  });

  it("reports nothing if the cell is still running", async () => {
    await openPage();
    await connect();
    commands().runCell("a");
    await advance();
    socketAt("/run").drop(1006);
    await advance(300);
    await connect(stateOf(20, [cell("a")], { cell_status: { a: "running" }, run_queue: ["a"] }));
    expect(noticeTexts()).toEqual([]);
    expect(executions().a).toMatchObject({ pending: true, started: false });
  });

  it("rejects requests that wait for an answer", async () => {
    await openPage();
    await connect();
    const created = commands().createCell(0, "code", "");
    const globals = commands().globals();
    const both = Promise.allSettled([created, globals]);
    socketAt("/run").drop(1006);
    const [a, b] = await both;
    expect([a.status, b.status]).toEqual(["rejected", "rejected"]);
    await expect(created).rejects.toThrow("the connection was lost before the answer came");
  });
});
