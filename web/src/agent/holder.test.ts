import { describe, expect, it } from "vitest";
import { begin, cells, commands, eachTestOnAnEmptyPage, live, load, pass, ready, runs, texts } from "./fakePage";
import { socketAt } from "./fakeServer";

eachTestOnAnEmptyPage();

describe("a holder", () => {
  const act = (action: string, params: unknown, tx_id = "tx_1") =>
    socketAt("/agent").says({ type: "agent_action", action, params, tx_id });
  const said = () => socketAt("/agent").sentOf("agent_action_response");

  async function hold(): Promise<void> {
    socketAt("/run").open();
    socketAt("/run").says(ready);
    socketAt("/agent").open();
    await pass();
  }

  it("answers the agent at once, before it tells the kernel, and says who did it", async () => {
    await begin("holder");
    await hold();
    expect(live().connection.state).toBe("connected");
    act("create_cell", { position: 0, cell_type: "code", source: "1", auto_run: true });
    const id = said()[0]?.cell_id;
    expect(said()).toEqual([
      { type: "agent_action_response", tx_id: "tx_1", status: "success", cell_id: id, tf_id: id },
    ]);
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: id, code: "1" }]);
    expect(cells()[String(id)]).toMatchObject({ source: "1", touched: { by: "agent" } });
    expect(runs()[String(id)]?.pending).toBe(true);
  });

  it("lets a person do the same, and shows what the kernel says at /run", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "code", "x");
    commands().runCell(id);
    socketAt("/run").says(
      { type: "start_cell", cell_id: id, run_sequencer: 1 },
      { type: "kernel_stdio", active_cell: id, stream: "stdout", data: "hi" },
    );
    await pass();
    expect(socketAt("/run").sentOf("run_cell")).toEqual([{ type: "run_cell", cell_id: id, code: "x" }]);
    expect(runs()[id]?.outputs).toEqual([{ output_type: "stream", name: "stdout", text: "hi" }]);
    await expect(commands().moveCell(id, 4)).rejects.toThrow("position: expected an integer from 0 to 0");
    await commands().deleteCell(id);
    expect(socketAt("/run").sentOf("dispose_cell")).toEqual([{ type: "dispose_cell", cell_id: id }]);
    expect(live().store.get().notebook.order).toEqual([]);
  });

  it("lets agent and person not overwrite each other", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "code", "x");
    commands().editCell(id, "mine");
    act("edit_cell", { cell_id: id, source: "theirs" });
    await pass(500);
    expect(cells()[id]?.source).toBe("theirs");
    live().conflicts[id]?.keepMine();
    await pass();
    expect(cells()[id]).toMatchObject({ source: "mine", rev: 3 });
  });

  it("has its notebook again when the page is loaded again, with what the cells have shown", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "markdown", "kept");
    await pass(500);
    await load("holder");
    socketAt("/run").open();
    socketAt("/run").says({ ...ready, cell_status: { [id]: "ran" }, cell_sequencers: { [id]: 5 } });
    await pass();
    expect(cells()[id]).toMatchObject({ source: "kept", type: "markdown" });
    expect(runs()[id]).toMatchObject({ status: "ran", sequencer: 5 });
  });

  it("begins the next attempt with an empty notebook, and what a person begins with this one", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "code", "of the first");
    socketAt("/agent").says({ type: "eval_result", case_id: "one" });
    await pass();
    commands().restart("kernel");
    socketAt("/run").says({ ...ready, kernel_pid: 100 });
    await pass();
    expect(cells()[id]).toBeDefined();
    socketAt("/agent").says({ type: "eval_result", case_id: "two" });
    socketAt("/run").says({ ...ready, kernel_pid: 101 });
    await pass();
    expect(live().store.get().notebook.order).toEqual([]);
    live().notices[0]?.action?.run();
    expect(Object.values(cells()).map(({ source }) => source)).toEqual(["of the first"]);
  });

  it("keeps its notebook when the connection breaks after a verdict, and when another owner goes", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "code", "kept");
    socketAt("/agent").says({ type: "eval_result", case_id: "one" });
    await pass();
    socketAt("/run").drop(1006);
    await pass(300);
    await hold();
    expect(live().store.get().verdict).toMatchObject({ case_id: "one" });
    socketAt("/run").says(ready);
    await pass(500);
    expect(cells()[id]?.source).toBe("kept");
    await load("holder");
    expect(cells()[id]?.source).toBe("kept");
  });

  describe("that comes back to another attempt", () => {
    const of = (case_id: string, kernel_pid: number) => ({ ...ready, case_id, kernel_pid, trace: `${case_id}.jsonl` });
    const previous = {
      type: "eval_result",
      case_id: "one",
      outcome: "console_lost",
      outcome_detail: "away for 31s",
      passed: null,
    };
    const come = async (greeting: object) => {
      socketAt("/run").open();
      socketAt("/run").says(greeting);
      socketAt("/agent").open();
      await pass();
    };
    const sources = () => Object.values(cells()).map(({ source }) => source);
    const offer = "Another attempt has begun, with an empty notebook. The one before is not lost.";

    async function typeWhileAway(): Promise<void> {
      await begin("holder", { "/api/sessions/s1": { trace: "two.jsonl", previous } });
      await come(of("one", 99));
      const id = await commands().createCell(0, "code", "before");
      socketAt("/run").drop(1006);
      commands().editCell(id, "typed while away");
    }

    it("begins with an empty notebook, is offered what was typed, and told how the one before ended", async () => {
      await typeWhileAway();
      await pass(500);
      await come(of("two", 100));
      expect(sources()).toEqual([]);
      expect(texts()).toEqual([
        "While this page was away the attempt at one ended: console lost (away for 31s)",
        offer,
      ]);
      live().notices[1]?.action?.run();
      expect(sources()).toEqual(["typed while away"]);
    });

    it("is offered it again when the page is loaded again, until it was taken or dismissed", async () => {
      await typeWhileAway();
      await load("holder");
      await come(of("two", 100));
      await load("holder");
      await come(of("two", 100));
      expect(texts()).toEqual([offer]);
      expect(sources()).toEqual([]);
      const [notice] = live().notices;
      notice?.action?.run();
      live().dismiss(notice?.id ?? 0);
      expect(sources()).toEqual(["typed while away"]);
      await load("holder");
      expect(texts()).toEqual([]);
    });

    it("keeps its notebook in the same one", async () => {
      await typeWhileAway();
      await pass(500);
      await come(of("one", 101));
      expect(sources()).toEqual(["typed while away"]);
      expect(texts()).toEqual([]);
    });

    it("is told nothing of a verdict that it has seen", async () => {
      await begin("holder", { "/api/sessions/s1": { trace: "two.jsonl", previous } });
      await come(of("one", 99));
      socketAt("/agent").says(previous);
      socketAt("/run").drop(1006);
      await pass(500);
      await come(of("two", 100));
      expect(texts()).toEqual([]);
    });

    it("does not fall over what was kept beside it", async () => {
      await typeWhileAway();
      await load("holder");
      const key = Object.keys(sessionStorage).find((name) => name.startsWith("assay.notebook.")) ?? "";
      sessionStorage.setItem(`${key.split(".attempt")[0]}.before`, '[7,null,{"source":{},"cell_type":"code"}]');
      await load("holder");
      live().notices[0]?.action?.run();
      await pass();
      expect(texts().at(-1)).toContain("Not all of its cells could be brought back");
    });
  });

  it("says which cells were not run when the connection broke", async () => {
    await begin("holder");
    await hold();
    const id = await commands().createCell(0, "code", "x");
    commands().runCell(id);
    await pass();
    socketAt("/run").drop(1006);
    await pass(300);
    await hold();
    expect(texts()).toEqual(["A cell was not run: the connection was lost."]);
    expect(runs()[id]?.pending ?? false).toBe(false);
  });

  it("is told when it may not hold", async () => {
    await begin("holder");
    await hold();
    socketAt("/agent").drop(4009, "another console holds this notebook");
    expect(live().connection).toMatchObject({
      code: 4009,
      reason: "another console holds this notebook",
      retryAt: null,
    });
  });
});
