import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { entryFromJSON } from "../protocol/fakeMessages";
import type { OutgoingMessage } from "../protocol/messages";
import { initialState, reduceEntries, reduceEntry } from "../store/reducer";
import type { State } from "../store/state";
import { handleAgentAction } from "./actionHandler";

// The page must answer actions exactly as the server's own notebook does: both are tested with the
// same transcripts.
const transcriptFolder = join(import.meta.dirname, "../../../internal/notebook/testdata/transcripts");
const transcriptFiles = readdirSync(transcriptFolder).filter((name) => name.endsWith(".txt"));

function readTranscript(name: string): string {
  return readFileSync(join(transcriptFolder, name), "utf8");
}

/** Numbers in the transcripts that JSON.parse and JSON.stringify write in another form, with that form. */
const numbersAsJSONWritesThem: Record<string, string> = { "99999999999999999999": "100000000000000000000" };

function parseExpectedMessage(text: string): OutgoingMessage {
  return JSON.parse(
    Object.entries(numbersAsJSONWritesThem).reduce((out, [from, to]) => out.replaceAll(from, to), text),
  ) as OutgoingMessage;
}

function fakeNotebookContext() {
  let cells = 0;
  return { language: "python", createId: () => `c${++cells}` };
}

interface TranscriptLine {
  keyword: string;
  text: string;
}

function transcriptLines(text: string): TranscriptLine[] {
  return text.split("\n").flatMap((line) => {
    const [, word = "", rest = ""] = /^(action|event|answer|kernel|ended)\s*(\{.*)?$/.exec(line) ?? [];
    return word === "" || (rest === "" && word !== "ended") ? [] : [{ keyword: word, text: rest }];
  });
}

function parseMessage(text: string): OutgoingMessage | null {
  try {
    return JSON.parse(text) as OutgoingMessage;
  } catch {
    return null;
  }
}

/**
 * Applies an action to a state; returns the new state and the resulting messages in the order in
 * which the server sends them.
 */
function applyActionToState(
  state: State,
  message: OutgoingMessage,
  context: ReturnType<typeof fakeNotebookContext>,
): { state: State; said: OutgoingMessage[] } {
  if (message.type !== "agent_action") return { state, said: [] };
  const { events, response, kernelMessages } = handleAgentAction(state, message, context);
  const entries = [
    ...events.map((msg) => entryFromJSON(0, "notebook", msg)),
    ...kernelMessages.map((msg) => entryFromJSON(0, "server>kernel", msg)),
  ];
  return {
    state: reduceEntries(state, entries),
    said: [...events, ...(response === null ? [] : [response]), ...kernelMessages],
  };
}

describe.each(transcriptFiles)("%s", (name) => {
  it("answers actions as the server does", () => {
    const context = fakeNotebookContext();
    let state = initialState;
    let said: OutgoingMessage[] = [];
    let count = 0;
    for (const { keyword, text } of transcriptLines(readTranscript(name))) {
      if (keyword === "kernel") {
        const msg = parseMessage(text);
        if (msg !== null) state = reduceEntry(state, entryFromJSON(0, "kernel>server", msg));
      } else if (keyword === "ended") {
        state = reduceEntry(
          state,
          entryFromJSON(0, "server>console", { type: "managed_process_exit", name: "kernel" }),
        );
      } else if (keyword === "action") {
        expect(said).toEqual([]);
        ({ state, said } = applyActionToState(state, parseMessage(text) ?? { type: "" }, context));
      } else {
        count++;
        const { by: _, agent_tx_id: tx, ...expected } = parseExpectedMessage(text);
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

it("there are transcripts to test with", () => {
  expect(transcriptFiles.length).toBeGreaterThan(5);
});

describe("limits of get_context", () => {
  const run = (entries: OutgoingMessage[]) =>
    reduceEntries(initialState, [
      entryFromJSON(0, "notebook", {
        type: "notebook_event",
        event: "cell_created",
        position: 0,
        cell: { cell_id: "a", cell_type: "code", source: "", display_name: "", rev: 1 },
      }),
      ...entries.map((msg) => entryFromJSON(0, "kernel>server", msg)),
    ]);
  const outputsOf = (state: State) => {
    const { response } = handleAgentAction(
      state,
      { type: "agent_action", action: "get_context", tx_id: "t" },
      fakeNotebookContext(),
    );
    const context = response?.context as { cells: { outputs: Record<string, unknown>[] }[] };
    return context.cells[0]?.outputs ?? [];
  };
  const stdio = (data: string): OutgoingMessage => ({ type: "kernel_stdio", active_cell: "a", stream: "stdout", data });
  const shows = (data: Record<string, unknown>): OutgoingMessage => ({
    type: "cell_output",
    cell_id: "a",
    output: { output_type: "display_data", data, metadata: {} },
  });

  it("cuts a long text in the middle, also one that is cut already", () => {
    const [long] = outputsOf(run([stdio("a".repeat(5000))]));
    expect(long?.text).toBe(`${"a".repeat(2048)}\n[... 904 bytes left out ...]\n${"a".repeat(2048)}`);
    const [longer] = outputsOf(run([stdio("a".repeat(3 << 20))]));
    expect(longer?.text).toBe(`${"a".repeat(2048)}\n[... ${(3 << 20) - 4096} bytes left out ...]\n${"a".repeat(2048)}`);
  });

  it("reports the size of binary values and cuts other values", () => {
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
    initialState,
    { type: "agent_action", action: "create_cell", tx_id: "t", params },
    fakeNotebookContext(),
  );
  expect(events).toEqual([]);
  expect(response?.error).toBe(
    "create_cell: source: expected at most 8388608 bytes of sources in the notebook, found 8388609",
  );
});
