import { describe, expect, it, vi } from "vitest";
import {
  acceptConnections,
  advanceTimers,
  answerNewestNotebookAction,
  cellEditedEvent,
  cellsById,
  executionsByCell,
  leavePage,
  loadPage,
  notebookStateFromServer,
  noticeTexts,
  openPage,
  reloadAndLeavePage,
  resetPageAroundTests,
  sentNotebookActions,
  sessionSnapshot,
  userCommands,
  wireCell,
} from "./fakePage";
import { socketAt } from "./fakeServer";

resetPageAroundTests();

describe("editing", () => {
  it("sends an edit when typing pauses, with the rev it is based on, and what was typed meanwhile afterwards", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "x");
    userCommands().editCell("a", "x =");
    await advanceTimers(200);
    expect(sentNotebookActions()).toEqual([]);
    await advanceTimers(300);
    expect(sentNotebookActions()).toMatchObject([
      { action: "edit_cell", params: { cell_id: "a", source: "x =", rev: 1 } },
    ]);
    userCommands().editCell("a", "x = 1");
    await advanceTimers(5000);
    expect(sentNotebookActions()).toHaveLength(1);
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "x =", 2, 11)]);
    await advanceTimers(500);
    expect(sentNotebookActions()[1]).toMatchObject({ params: { source: "x = 1", rev: 2 } });
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "x = 1", 3, 12)]);
    await advanceTimers(5000);
    expect(sentNotebookActions()).toHaveLength(2);
  });

  it("sends an edit after two seconds of uninterrupted typing", async () => {
    await openPage();
    await acceptConnections();
    for (let n = 1; n <= 12; n++) {
      userCommands().editCell("a", "x".repeat(n));
      await advanceTimers(200);
    }
    expect(sentNotebookActions()).toHaveLength(1);
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "x".repeat(10), 2, 11)]);
    await advanceTimers(500);
    expect(sentNotebookActions().at(-1)).toMatchObject({ params: { source: "x".repeat(12), rev: 2 } });
  });

  it("runs what was typed, after it is stored", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "typed");
    userCommands().runCell("a");
    await advanceTimers();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "typed" }]);
    userCommands().runCell("b");
    await advanceTimers();
    expect(socketAt("/run").sentOf("run_cell")[1]).toEqual({ type: "run_cell", cell_id: "b" });
    expect(executionsByCell().b).toMatchObject({ pending: true, status: "running" });
  });

  it("runs cells in the order of the commands, also when one has to be stored first", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "typed");
    userCommands().runCell("a");
    userCommands().runCell("b");
    await advanceTimers();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ cell_id: "a" }, { cell_id: "b" }]);
  });

  const stale = { status: "error", error: "edit_cell: rev: expected 2, found 1", source: "theirs", rev: 2 };

  it("does not overwrite another edit: the user chooses between both texts", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("a", "theirs", 2, 11, "agent")]);
    expect(sessionSnapshot().conflicts).toMatchObject({ a: { theirs: "theirs" } });
    expect(cellsById().a?.source).toBe("theirs");
    userCommands().editCell("a", "mine too");
    userCommands().runCell("a");
    await advanceTimers(1000);
    expect(sentNotebookActions()).toHaveLength(1);
    expect(noticeTexts()).toEqual(["The cell was not run: somebody else has changed it meanwhile."]);
    socketAt("/agent").receive(cellEditedEvent("a", "theirs again", 3, 12, "agent"));
    await advanceTimers();
    expect(sessionSnapshot().conflicts.a?.theirs).toBe("theirs again");
    sessionSnapshot().conflicts.a?.keepMine();
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(sentNotebookActions()[1]).toMatchObject({ params: { source: "mine too", rev: 3 } });
  });

  it("discards the user's text for the other one", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("a", "theirs", 2, 11, "agent")]);
    sessionSnapshot().conflicts.a?.takeTheirs();
    await advanceTimers(5000);
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(sentNotebookActions()).toHaveLength(1);
  });

  it("reports no conflict if both texts are the same", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "theirs");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("a", "theirs", 2, 11, "agent")]);
    expect(sessionSnapshot().conflicts).toEqual({});
    await advanceTimers(5000);
    expect(sentNotebookActions()).toHaveLength(1);
  });

  it("keeps an edit while there is no connection and sends it afterwards", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "typed while away");
    await advanceTimers(300);
    await acceptConnections();
    expect(sentNotebookActions()).toMatchObject([{ params: { cell_id: "a", source: "typed while away", rev: 1 } }]);
  });

  it("recognises an edit that was sent when the connection broke", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "sent");
    await advanceTimers(500);
    expect(sentNotebookActions()).toHaveLength(1);
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "sent and more");
    await advanceTimers(300);
    await acceptConnections(notebookStateFromServer(12, [wireCell("a", "sent", 2)]));
    expect(sentNotebookActions()).toMatchObject([{ params: { source: "sent and more", rev: 1 } }]);
    await answerNewestNotebookAction({ status: "error", error: "rev", source: "sent", rev: 2 });
    await advanceTimers(500);
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(sentNotebookActions()[1]).toMatchObject({ params: { source: "sent and more", rev: 2 } });
  });

  it("recognises an edit that arrived late at a stalled server, and sends what was typed since", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "one");
    await advanceTimers(500);
    const [first] = sentNotebookActions();
    userCommands().editCell("a", "one two");
    await advanceTimers(40_000);
    socketAt("/agent").receive(cellEditedEvent("a", "one", 2, 11), {
      type: "notebook_action_response",
      tx_id: first?.tx_id,
      status: "success",
    });
    await advanceTimers(500);
    expect(sentNotebookActions().at(-1)).toMatchObject({ params: { source: "one two", rev: 2 } });
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "one two", 3, 12)]);
    socketAt("/agent").receive(cellEditedEvent("a", "theirs", 4, 13, "agent"));
    await advanceTimers(5000);
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(sentNotebookActions()).toHaveLength(2);
  });

  it("reports no conflict if a late edit was changed by somebody else at once", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "one");
    await advanceTimers(40_000);
    socketAt("/agent").receive(cellEditedEvent("a", "one", 2, 11), cellEditedEvent("a", "one, theirs", 3, 12, "agent"));
    await advanceTimers(500);
    userCommands().runCell("a");
    await advanceTimers(500);
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(cellsById().a?.source).toBe("one, theirs");
    expect(sentNotebookActions()).toHaveLength(1);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a" }]);
  });

  it("stores an edit over the text that it is based on, whatever rev that has by now", async () => {
    await openPage();
    await acceptConnections(notebookStateFromServer(10, [wireCell("a", "x", 9)]));
    socketAt("/agent").drop(1001);
    userCommands().editCell("a", "xy");
    await advanceTimers(300);
    await acceptConnections(notebookStateFromServer(3, [wireCell("a", "x", 2)]));
    await answerNewestNotebookAction({ status: "error", error: "rev", source: "x", rev: 2 });
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(sentNotebookActions().at(-1)).toMatchObject({ params: { source: "xy", rev: 2 } });
  });

  it("saves an edit while it is typed and removes it when it is stored", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "typed while away");
    await advanceTimers(500);
    const kept = () => sessionStorage.getItem("assay.edits.s1");
    expect(kept()).toContain("typed while away");
    await acceptConnections();
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "typed while away", 2, 11)]);
    expect(kept()).toBeNull();
  });

  it("warns if there is no room to save an edit", async () => {
    await openPage();
    await acceptConnections();
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
    userCommands().editCell("a", "x".repeat(6 << 20));
    await advanceTimers(500);
    expect(noticeTexts()).toEqual([expect.stringContaining("There is no room to save what you typed")]);
  });

  it("offers the text of a cell that was deleted meanwhile", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answerNewestNotebookAction({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [
      gone,
    ]);
    const [notice] = sessionSnapshot().notices;
    expect(notice?.text).toContain("Your text is not lost");
    notice?.action?.run();
    await advanceTimers();
    expect(sentNotebookActions().at(-1)).toMatchObject({
      action: "create_cell",
      params: { source: "mine", position: 1 },
    });
  });

  it("offers no text of a deleted cell if the notebook has offered it", async () => {
    await openPage();
    await acceptConnections();
    sessionSnapshot().store.subscribe(() => {
      if (cellsById().a === undefined) userCommands().keptInNotebook?.("a");
    });
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answerNewestNotebookAction({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [
      gone,
    ]);
    userCommands().editCell("b", "mine");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("b", "theirs", 2, 12, "agent")]);
    expect(Object.keys(sessionSnapshot().conflicts)).toEqual(["b"]);
    sessionSnapshot().store.subscribe(() => {
      if (cellsById().b === undefined) userCommands().keptInNotebook?.("b");
    });
    socketAt("/agent").receive({ ...gone, cell_id: "b", seq: 13 });
    await advanceTimers(5000);
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(noticeTexts()).toEqual([]);
  });

  it("runs the text as it was when run was pressed, and sends later text afterwards", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "one");
    userCommands().runCell("a");
    userCommands().editCell("a", "one two");
    await advanceTimers(1000);
    await answerNewestNotebookAction({ cell_id: "a" }, [cellEditedEvent("a", "one", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "one" }]);
    await advanceTimers(500);
    expect(sentNotebookActions()[1]).toMatchObject({ params: { source: "one two", rev: 2 } });
  });

  it("runs that text also while an older edit is being sent", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "zero");
    await advanceTimers(500);
    userCommands().editCell("a", "one");
    userCommands().runCell("a");
    userCommands().editCell("a", "one two");
    await answerNewestNotebookAction({}, [cellEditedEvent("a", "zero", 2, 11)]);
    expect(sentNotebookActions()[1]).toMatchObject({ params: { source: "one", rev: 2 } });
    await answerNewestNotebookAction({}, [cellEditedEvent("a", "one", 3, 12)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ code: "one" }]);
  });

  it("restores a conflict when the page is reloaded", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("a", "theirs", 2, 11, "agent")]);
    await loadPage();
    await acceptConnections(notebookStateFromServer(12, [wireCell("a", "theirs", 2), wireCell("b")]));
    await advanceTimers(1000);
    expect(sentNotebookActions()).toEqual([]);
    expect(sessionSnapshot().conflicts).toMatchObject({ a: { mine: "mine", theirs: "theirs" } });
    expect(cellsById().a?.source).toBe("theirs");
  });

  it("shows saved text after a reload, or the conflict, before anything is typed over it", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "mine a");
    userCommands().editCell("b", "mine b");
    await loadPage();
    await acceptConnections(notebookStateFromServer(12, [wireCell("a", "theirs", 2), wireCell("b")]));
    expect(sessionSnapshot().conflicts).toMatchObject({ a: { mine: "mine a", theirs: "theirs" } });
    expect(cellsById().b?.source).toBe("mine b");
    expect(sentNotebookActions()).toMatchObject([{ params: { cell_id: "b", source: "mine b", rev: 1 } }]);
  });

  it("keeps saved text if the page is reloaded before it has started", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "mine");
    leavePage();
    reloadAndLeavePage();
    await loadPage();
    await acceptConnections();
    expect(sentNotebookActions()).toMatchObject([{ params: { cell_id: "a", source: "mine" } }]);
  });

  it("copies text that is typed while the type of the cell changes", async () => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "one");
    const changed = userCommands().changeType("a", "markdown");
    userCommands().editCell("a", "one two");
    const made = { type: "notebook_event", event: "cell_created", cell: wireCell("c", "one"), position: 0, seq: 11 };
    await answerNewestNotebookAction({ cell_id: "c" }, [made]);
    await answerNewestNotebookAction({}, [{ type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 }]);
    await expect(changed).resolves.toBe("c");
    await advanceTimers(500);
    expect(sentNotebookActions().at(-1)).toMatchObject({ params: { cell_id: "c", source: "one two" } });
  });

  it.each(["a person", "the agent"])("offers the text of a conflict when %s deletes the cell", async (who) => {
    await openPage();
    await acceptConnections();
    userCommands().editCell("a", "mine");
    await advanceTimers(500);
    await answerNewestNotebookAction(stale, [cellEditedEvent("a", "theirs", 2, 11, "agent")]);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 };
    if (who === "a person") {
      const deleted = userCommands().deleteCell("a");
      await answerNewestNotebookAction({}, [gone]);
      await deleted;
    } else socketAt("/agent").receive(gone);
    await advanceTimers();
    expect(sessionSnapshot().conflicts).toEqual({});
    expect(noticeTexts()).toEqual([expect.stringContaining("Your text is not lost. It is: mine")]);
    sessionSnapshot().notices[0]?.action?.run();
    await advanceTimers();
    expect(sentNotebookActions().at(-1)).toMatchObject({ action: "create_cell", params: { source: "mine" } });
  });

  it("keeps an edit when the page is reloaded", async () => {
    await openPage();
    await acceptConnections();
    socketAt("/agent").drop(1006);
    userCommands().editCell("a", "typed last");
    await loadPage();
    await acceptConnections();
    expect(sentNotebookActions()).toMatchObject([{ params: { cell_id: "a", source: "typed last", rev: 1 } }]);
  });
});

describe("a lost connection", () => {
  it("runs nothing twice, and reports cells that did not run", async () => {
    await openPage();
    await acceptConnections();
    userCommands().runCell("a");
    userCommands().runCell("b");
    await advanceTimers();
    socketAt("/run").drop(1006);
    userCommands().runCell("a");
    await advanceTimers(300);
    expect(noticeTexts()).toEqual(["The cell was not run: there is no connection."]);
    await acceptConnections(
      notebookStateFromServer(20, [wireCell("a"), wireCell("b")], {
        cell_status: { b: "ran" },
        cell_sequencers: { b: 1 },
      }),
    );
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    expect(executionsByCell().a).toBeUndefined();
    expect(noticeTexts()[1]).toBe("A cell was not run: the connection was lost.");
  });

  it("reports nothing if the cell is still running", async () => {
    await openPage();
    await acceptConnections();
    userCommands().runCell("a");
    await advanceTimers();
    socketAt("/run").drop(1006);
    await advanceTimers(300);
    await acceptConnections(
      notebookStateFromServer(20, [wireCell("a")], { cell_status: { a: "running" }, run_queue: ["a"] }),
    );
    expect(noticeTexts()).toEqual([]);
    expect(executionsByCell().a).toMatchObject({ pending: true, started: false });
  });

  it("rejects requests that wait for an answer", async () => {
    await openPage();
    await acceptConnections();
    const created = userCommands().createCell(0, "code", "");
    const globals = userCommands().globals();
    const both = Promise.allSettled([created, globals]);
    socketAt("/run").drop(1006);
    const [a, b] = await both;
    expect([a.status, b.status]).toEqual(["rejected", "rejected"]);
    await expect(created).rejects.toThrow("the connection was lost before the answer came");
  });
});
