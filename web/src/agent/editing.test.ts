import { describe, expect, it, vi } from "vitest";
import {
  actions,
  answer,
  begin,
  cell,
  cells,
  commands,
  connect,
  eachTestOnAnEmptyPage,
  edited,
  glance,
  leave,
  live,
  load,
  pass,
  runs,
  stateOf,
  texts,
} from "./fakePage";
import { socketAt } from "./fakeServer";

eachTestOnAnEmptyPage();

describe("editing", () => {
  it("is sent when typing pauses, with the rev that was typed over; what is typed meanwhile follows", async () => {
    await begin();
    await connect();
    commands().editCell("a", "x");
    commands().editCell("a", "x =");
    await pass(200);
    expect(actions()).toEqual([]);
    await pass(300);
    expect(actions()).toMatchObject([{ action: "edit_cell", params: { cell_id: "a", source: "x =", rev: 1 } }]);
    commands().editCell("a", "x = 1");
    await pass(5000);
    expect(actions()).toHaveLength(1);
    await answer({ cell_id: "a" }, [edited("a", "x =", 2, 11)]);
    await pass(500);
    expect(actions()[1]).toMatchObject({ params: { source: "x = 1", rev: 2 } });
    await answer({ cell_id: "a" }, [edited("a", "x = 1", 3, 12)]);
    await pass(5000);
    expect(actions()).toHaveLength(2);
  });

  it("is sent after two seconds though typing goes on", async () => {
    await begin();
    await connect();
    for (let n = 1; n <= 12; n++) {
      commands().editCell("a", "x".repeat(n));
      await pass(200);
    }
    expect(actions()).toHaveLength(1);
    await answer({ cell_id: "a" }, [edited("a", "x".repeat(10), 2, 11)]);
    await pass(500);
    expect(actions().at(-1)).toMatchObject({ params: { source: "x".repeat(12), rev: 2 } });
  });

  it("runs what was typed, and only when it is stored", async () => {
    await begin();
    await connect();
    commands().editCell("a", "typed");
    commands().runCell("a");
    await pass();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answer({ cell_id: "a" }, [edited("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "typed" }]);
    commands().runCell("b");
    await pass();
    expect(socketAt("/run").sentOf("run_cell")[1]).toEqual({ type: "run_cell", cell_id: "b" });
    expect(runs().b).toMatchObject({ pending: true, status: "running" });
  });

  it("runs cells in the order in which it was asked for, also when one has to be stored first", async () => {
    await begin();
    await connect();
    commands().editCell("a", "typed");
    commands().runCell("a");
    commands().runCell("b");
    await pass();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    await answer({ cell_id: "a" }, [edited("a", "typed", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ cell_id: "a" }, { cell_id: "b" }]);
  });

  const stale = { status: "error", error: "edit_cell: rev: expected 2, found 1", source: "theirs", rev: 2 };

  it("overwrites nobody: both texts are there until a person chooses", async () => {
    await begin();
    await connect();
    commands().editCell("a", "mine");
    await pass(500);
    await answer(stale, [edited("a", "theirs", 2, 11, "agent")]);
    expect(live().conflicts).toMatchObject({ a: { theirs: "theirs" } });
    expect(cells().a?.source).toBe("theirs");
    commands().editCell("a", "mine too");
    commands().runCell("a");
    await pass(1000);
    expect(actions()).toHaveLength(1);
    expect(texts()).toEqual(["The cell was not run: somebody else has changed it meanwhile."]);
    socketAt("/agent").says(edited("a", "theirs again", 3, 12, "agent"));
    await pass();
    expect(live().conflicts.a?.theirs).toBe("theirs again");
    live().conflicts.a?.keepMine();
    expect(live().conflicts).toEqual({});
    expect(actions()[1]).toMatchObject({ params: { source: "mine too", rev: 3 } });
  });

  it("is given up for theirs", async () => {
    await begin();
    await connect();
    commands().editCell("a", "mine");
    await pass(500);
    await answer(stale, [edited("a", "theirs", 2, 11, "agent")]);
    live().conflicts.a?.takeTheirs();
    await pass(5000);
    expect(live().conflicts).toEqual({});
    expect(actions()).toHaveLength(1);
  });

  it("is no conflict when both have typed the same", async () => {
    await begin();
    await connect();
    commands().editCell("a", "theirs");
    await pass(500);
    await answer(stale, [edited("a", "theirs", 2, 11, "agent")]);
    expect(live().conflicts).toEqual({});
    await pass(5000);
    expect(actions()).toHaveLength(1);
  });

  it("is kept while there is no connection, and sent once there is one", async () => {
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed while away");
    await pass(300);
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "typed while away", rev: 1 } }]);
  });

  it("that was sent when the connection broke is known again, and not a conflict", async () => {
    await begin();
    await connect();
    commands().editCell("a", "sent");
    await pass(500);
    expect(actions()).toHaveLength(1);
    socketAt("/agent").drop(1006);
    commands().editCell("a", "sent and more");
    await pass(300);
    await connect(stateOf(12, [cell("a", "sent", 2)]));
    expect(actions()).toMatchObject([{ params: { source: "sent and more", rev: 1 } }]);
    await answer({ status: "error", error: "rev", source: "sent", rev: 2 });
    await pass(500);
    expect(live().conflicts).toEqual({});
    expect(actions()[1]).toMatchObject({ params: { source: "sent and more", rev: 2 } });
  });

  it("that came late to a server that had stalled is known again: no conflict, and what was typed since follows", async () => {
    await begin();
    await connect();
    commands().editCell("a", "one");
    await pass(500);
    const [first] = actions();
    commands().editCell("a", "one two");
    await pass(40_000);
    socketAt("/agent").says(edited("a", "one", 2, 11), {
      type: "notebook_action_response",
      tx_id: first?.tx_id,
      status: "success",
    });
    await pass(500);
    expect(actions().at(-1)).toMatchObject({ params: { source: "one two", rev: 2 } });
    await answer({ cell_id: "a" }, [edited("a", "one two", 3, 12)]);
    socketAt("/agent").says(edited("a", "theirs", 4, 13, "agent"));
    await pass(5000);
    expect(live().conflicts).toEqual({});
    expect(actions()).toHaveLength(2);
  });

  it("that came late is no conflict with what somebody else has made of it at once", async () => {
    await begin();
    await connect();
    commands().editCell("a", "one");
    await pass(40_000);
    socketAt("/agent").says(edited("a", "one", 2, 11), edited("a", "one, theirs", 3, 12, "agent"));
    await pass(500);
    commands().runCell("a");
    await pass(500);
    expect(live().conflicts).toEqual({});
    expect(cells().a?.source).toBe("one, theirs");
    expect(actions()).toHaveLength(1);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a" }]);
  });

  it("is stored over the text that it was typed over, whatever number that has by now", async () => {
    await begin();
    await connect(stateOf(10, [cell("a", "x", 9)]));
    socketAt("/agent").drop(1001);
    commands().editCell("a", "xy");
    await pass(300);
    await connect(stateOf(3, [cell("a", "x", 2)]));
    await answer({ status: "error", error: "rev", source: "x", rev: 2 });
    expect(live().conflicts).toEqual({});
    expect(actions().at(-1)).toMatchObject({ params: { source: "xy", rev: 2 } });
  });

  it("is kept while it is typed, for a page that goes without a word, and not longer", async () => {
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed while away");
    await pass(500);
    const kept = () => sessionStorage.getItem("assay.edits.s1");
    expect(kept()).toContain("typed while away");
    await connect();
    await answer({ cell_id: "a" }, [edited("a", "typed while away", 2, 11)]);
    expect(kept()).toBeNull();
  });

  it("that there is no room to keep is told of before it is lost", async () => {
    await begin();
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
    expect(texts()).toEqual([]);
    commands().editCell("a", "x".repeat(6 << 20));
    await pass(500);
    expect(texts()).toEqual([expect.stringContaining("There is no room to keep what you typed")]);
  });

  it("of a cell that was deleted meanwhile is not lost", async () => {
    await begin();
    await connect();
    commands().editCell("a", "mine");
    await pass(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answer({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [gone]);
    const [notice] = live().notices;
    expect(notice?.text).toContain("Your text is not lost");
    notice?.action?.run();
    await pass();
    expect(actions().at(-1)).toMatchObject({ action: "create_cell", params: { source: "mine", position: 1 } });
  });

  it("of a cell that was deleted meanwhile is not told of when the notebook has done that", async () => {
    await begin();
    await connect();
    live().store.subscribe(() => {
      if (cells().a === undefined) commands().rescued?.("a");
    });
    commands().editCell("a", "mine");
    await pass(500);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 11 };
    await answer({ status: "error", error: "edit_cell: cell_id: expected the id of a cell" }, [gone]);
    commands().editCell("b", "mine");
    await pass(500);
    await answer(stale, [edited("b", "theirs", 2, 12, "agent")]);
    expect(Object.keys(live().conflicts)).toEqual(["b"]);
    live().store.subscribe(() => {
      if (cells().b === undefined) commands().rescued?.("b");
    });
    socketAt("/agent").says({ ...gone, cell_id: "b", seq: 13 });
    await pass(5000);
    expect(live().conflicts).toEqual({});
    expect(texts()).toEqual([]);
  });

  it("runs the text as it was when that was asked for, and what is typed later follows", async () => {
    await begin();
    await connect();
    commands().editCell("a", "one");
    commands().runCell("a");
    commands().editCell("a", "one two");
    await pass(1000);
    await answer({ cell_id: "a" }, [edited("a", "one", 2, 11)]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: "a", code: "one" }]);
    await pass(500);
    expect(actions()[1]).toMatchObject({ params: { source: "one two", rev: 2 } });
  });

  it("runs that text also when an older one is under way", async () => {
    await begin();
    await connect();
    commands().editCell("a", "zero");
    await pass(500);
    commands().editCell("a", "one");
    commands().runCell("a");
    commands().editCell("a", "one two");
    await answer({}, [edited("a", "zero", 2, 11)]);
    expect(actions()[1]).toMatchObject({ params: { source: "one", rev: 2 } });
    await answer({}, [edited("a", "one", 3, 12)]);
    expect(socketAt("/run").sentOf("run_cell")).toMatchObject([{ code: "one" }]);
  });

  it("is a conflict again when the page is loaded again", async () => {
    await begin();
    await connect();
    commands().editCell("a", "mine");
    await pass(500);
    await answer(stale, [edited("a", "theirs", 2, 11, "agent")]);
    await load();
    await connect(stateOf(12, [cell("a", "theirs", 2), cell("b")]));
    await pass(1000);
    expect(actions()).toEqual([]);
    expect(live().conflicts).toMatchObject({ a: { mine: "mine", theirs: "theirs" } });
    expect(cells().a?.source).toBe("theirs");
  });

  it("that was typed before the page was loaded is shown, or in conflict, before anything is typed over it", async () => {
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "mine a");
    commands().editCell("b", "mine b");
    await load();
    await connect(stateOf(12, [cell("a", "theirs", 2), cell("b")]));
    expect(live().conflicts).toMatchObject({ a: { mine: "mine a", theirs: "theirs" } });
    expect(cells().b?.source).toBe("mine b");
    expect(actions()).toMatchObject([{ params: { cell_id: "b", source: "mine b", rev: 1 } }]);
  });

  it("outlives a page that is loaded anew before it had begun", async () => {
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "mine");
    leave();
    glance();
    await load();
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "mine" } }]);
  });

  it("goes along when the type of the cell is changed meanwhile", async () => {
    await begin();
    await connect();
    commands().editCell("a", "one");
    const changed = commands().changeType("a", "markdown");
    commands().editCell("a", "one two");
    const made = { type: "notebook_event", event: "cell_created", cell: cell("c", "one"), position: 0, seq: 11 };
    await answer({ cell_id: "c" }, [made]);
    await answer({}, [{ type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 }]);
    await expect(changed).resolves.toBe("c");
    await pass(500);
    expect(actions().at(-1)).toMatchObject({ params: { cell_id: "c", source: "one two" } });
  });

  it.each(["a person", "the agent"])("in conflict is not lost when %s deletes the cell", async (who) => {
    await begin();
    await connect();
    commands().editCell("a", "mine");
    await pass(500);
    await answer(stale, [edited("a", "theirs", 2, 11, "agent")]);
    const gone = { type: "notebook_event", event: "cell_deleted", cell_id: "a", seq: 12 };
    if (who === "a person") {
      const deleted = commands().deleteCell("a");
      await answer({}, [gone]);
      await deleted;
    } else socketAt("/agent").says(gone);
    await pass();
    expect(live().conflicts).toEqual({});
    expect(texts()).toEqual([expect.stringContaining("Your text is not lost. It is: mine")]);
    live().notices[0]?.action?.run();
    await pass();
    expect(actions().at(-1)).toMatchObject({ action: "create_cell", params: { source: "mine" } });
  });

  it("is kept when the page is loaded again", async () => {
    await begin();
    await connect();
    socketAt("/agent").drop(1006);
    commands().editCell("a", "typed last");
    await load();
    await connect();
    expect(actions()).toMatchObject([{ params: { cell_id: "a", source: "typed last", rev: 1 } }]);
  });
});

describe("a connection that is lost", () => {
  it("runs nothing twice, and says what was not run", async () => {
    await begin();
    await connect();
    commands().runCell("a");
    commands().runCell("b");
    await pass();
    socketAt("/run").drop(1006);
    commands().runCell("a");
    await pass(300);
    expect(texts()).toEqual(["The cell was not run: there is no connection."]);
    await connect(stateOf(20, [cell("a"), cell("b")], { cell_status: { b: "ran" }, cell_sequencers: { b: 1 } }));
    expect(socketAt("/run").sentOf("run_cell")).toEqual([]);
    expect(runs().a).toBeUndefined();
    expect(texts()[1]).toBe("A cell was not run: the connection was lost.");
  });

  it("says nothing of a run that goes on", async () => {
    await begin();
    await connect();
    commands().runCell("a");
    await pass();
    socketAt("/run").drop(1006);
    await pass(300);
    await connect(stateOf(20, [cell("a")], { cell_status: { a: "running" }, run_queue: ["a"] }));
    expect(texts()).toEqual([]);
    expect(runs().a).toMatchObject({ pending: true, started: false });
  });

  it("rejects what waits for an answer", async () => {
    await begin();
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
