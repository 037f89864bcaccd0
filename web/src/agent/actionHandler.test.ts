import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Entry, Message } from "../protocol/messages";
import { initial, reduce, reduceAll } from "../store/reducer";
import type { State } from "../store/state";
import { handleAgentAction } from "./actionHandler";

// What the server's own notebook answers, this one does.
const folder = join(import.meta.dirname, "../../../internal/notebook/testdata/transcripts");
const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));

function read(name: string): string {
  return readFileSync(join(folder, name), "utf8");
}

/** What JavaScript writes otherwise than it was written. */
const written: Record<string, string> = { "99999999999999999999": "100000000000000000000" };

function expectedOf(text: string): Message {
  return JSON.parse(Object.entries(written).reduce((out, [from, to]) => out.replaceAll(from, to), text)) as Message;
}

function desk() {
  let cells = 0;
  return { language: "python", newId: () => `c${++cells}` };
}

interface Line {
  word: string;
  text: string;
}

function linesOf(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    const [, word = "", rest = ""] = /^(action|event|answer|kernel|ended)\s*(\{.*)?$/.exec(line) ?? [];
    return word === "" || (rest === "" && word !== "ended") ? [] : [{ word, text: rest }];
  });
}

function parse(text: string): Message | null {
  try {
    return JSON.parse(text) as Message;
  } catch {
    return null;
  }
}

/** The state after an action, and what came of it, in the server's words. */
function act(state: State, message: Message, at: ReturnType<typeof desk>): { state: State; said: Message[] } {
  if (message.type !== "agent_action") return { state, said: [] };
  const { events, response, run } = handleAgentAction(state, message, at);
  const entries: Entry[] = [
    ...events.map((msg) => ({ seq: 0, hop: "notebook" as const, msg })),
    ...run.map((msg) => ({ seq: 0, hop: "server>kernel" as const, msg })),
  ];
  return { state: reduceAll(state, entries), said: [...events, ...(response === null ? [] : [response]), ...run] };
}

describe.each(files)("%s", (name) => {
  it("is answered as the server answers it", () => {
    const at = desk();
    let state = initial;
    let said: Message[] = [];
    let count = 0;
    for (const { word, text } of linesOf(read(name))) {
      if (word === "kernel") {
        const msg = parse(text);
        if (msg !== null) state = reduce(state, { seq: 0, hop: "kernel>server", msg });
      } else if (word === "ended") {
        state = reduce(state, { seq: 0, hop: "server>console", msg: { type: "managed_process_exit", name: "kernel" } });
      } else if (word === "action") {
        expect(said).toEqual([]);
        ({ state, said } = act(state, parse(text) ?? { type: "" }, at));
      } else {
        count++;
        const { by: _, agent_tx_id: tx, ...expected } = expectedOf(text);
        // A set_widget is answered by the server when the kernel has answered; a holder answers at once.
        if (expected.type === "set_widget_value") {
          expect(said.shift()).toMatchObject({ type: "agent_action_response", status: "success", tx_id: tx });
        }
        expect(said.shift()).toEqual(expected);
      }
    }
    expect(said).toEqual([]);
    expect(count).toBeGreaterThan(0);
  });
});

it("has transcripts to be held against", () => {
  expect(files.length).toBeGreaterThan(5);
});

describe("limits of a context", () => {
  const run = (entries: Message[]) =>
    reduceAll(initial, [
      {
        seq: 0,
        hop: "notebook",
        msg: {
          type: "notebook_event",
          event: "cell_created",
          position: 0,
          cell: { cell_id: "a", cell_type: "code", source: "", display_name: "", rev: 1 },
        },
      },
      ...entries.map((msg): Entry => ({ seq: 0, hop: "kernel>server", msg })),
    ]);
  const outputsOf = (state: State) => {
    const { response } = handleAgentAction(state, { type: "agent_action", action: "get_context", tx_id: "t" }, desk());
    const context = response?.context as { cells: { outputs: Record<string, unknown>[] }[] };
    return context.cells[0]?.outputs ?? [];
  };
  const stdio = (data: string): Message => ({ type: "kernel_stdio", active_cell: "a", stream: "stdout", data });
  const shows = (data: Record<string, unknown>): Message => ({
    type: "cell_output",
    cell_id: "a",
    output: { output_type: "display_data", data, metadata: {} },
  });

  it("cut a long text in the middle, also one of which some is gone already", () => {
    const [long] = outputsOf(run([stdio("a".repeat(5000))]));
    expect(long?.text).toBe(`${"a".repeat(2048)}\n[... 904 bytes left out ...]\n${"a".repeat(2048)}`);
    const [longer] = outputsOf(run([stdio("a".repeat(3 << 20))]));
    expect(longer?.text).toBe(`${"a".repeat(2048)}\n[... ${(3 << 20) - 4096} bytes left out ...]\n${"a".repeat(2048)}`);
  });

  it("say the size of what is binary, and cut the rest", () => {
    const data = {
      "image/png": "A".repeat(400),
      "text/html": "h".repeat(5000),
      "application/json": { a: "j".repeat(5000) },
    };
    const [output] = outputsOf(run([shows(data)]));
    expect(output?.data).toEqual({
      "image/png": { mime: "image/png", bytes: 300 },
      "text/html": `${"h".repeat(2048)}\n[... 904 bytes left out ...]\n${"h".repeat(2048)}`,
      "application/json": { mime: "application/json", bytes: 5008 },
    });
  });
});

it("refuses sources that are too large together", () => {
  const params = { position: 0, cell_type: "code", source: "x".repeat((8 << 20) + 1) };
  const { response, events } = handleAgentAction(
    initial,
    { type: "agent_action", action: "create_cell", tx_id: "t", params },
    desk(),
  );
  expect(events).toEqual([]);
  expect(response?.error).toBe(
    "create_cell: source: expected at most 8388608 bytes of sources in the notebook, found 8388609",
  );
});
