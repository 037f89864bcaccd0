import { expect, test } from "vitest";
import { messageFromJSON } from "../protocol/fakeMessages";
import type { Entry, OutgoingMessage } from "../protocol/messages";
import { initialState, reduceEntries } from "../store/reducer";
import { ipynbOf } from "./ipynb";

const createdCellMessage = (
  cell_id: string,
  cell_type: string,
  source: string,
  position: number,
  title = "",
): OutgoingMessage => ({
  type: "notebook_event",
  event: "cell_created",
  cell: { cell_id, cell_type, source, display_name: title, rev: 1 },
  position,
});

function notebookOfMessages(cells: readonly OutgoingMessage[], frames: readonly OutgoingMessage[] = []) {
  const entries: Entry[] = [
    ...cells.map((msg, at) => ({ seq: at + 1, hop: "notebook" as const, msg: messageFromJSON(msg) })),
    ...frames.map((msg, at) => ({ seq: 100 + at, hop: "kernel>server" as const, msg: messageFromJSON(msg) })),
  ];
  return reduceEntries(initialState, entries).notebook;
}

const outputMessage = (shown: Record<string, unknown>): OutgoingMessage => ({
  type: "cell_output",
  cell_id: "a",
  run_sequencer: 7,
  output: shown,
});
const parseIpynb = (text: string) => JSON.parse(text) as { cells: Record<string, unknown>[] } & Record<string, unknown>;

test("ipynbOf writes cells, outputs and execution counts as nbformat has them", () => {
  const file = parseIpynb(
    ipynbOf(
      notebookOfMessages(
        [
          createdCellMessage("a", "code", "x\ny\n", 0, "Sum"),
          createdCellMessage("b", "markdown", "# é", 1),
          createdCellMessage("c", "code", "", 2),
        ],
        [
          { type: "start_cell", cell_id: "a", run_sequencer: 7 },
          { type: "kernel_stdio", active_cell: "a", stream: "stdout", data: "1\n2" },
          outputMessage({
            output_type: "execute_result",
            execution_count: 7,
            data: { "text/plain": "3", "image/png": "aGk=" },
            metadata: {},
            transient: { display_id: "d" },
          }),
          outputMessage({ output_type: "error", ename: "E", evalue: "v", traceback: ["t"] }),
          { type: "cell_result", cell_id: "a", run_sequencer: 7, status: "error" },
        ],
      ),
      "python",
    ),
  );
  expect(file).toMatchObject({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: "python3", language: "python" }, language_info: { name: "python" } },
  });
  expect(file.cells).toEqual([
    {
      cell_type: "code",
      id: "a",
      metadata: { assay: { title: "Sum" } },
      source: ["x\n", "y\n"],
      execution_count: 7,
      outputs: [
        { output_type: "stream", name: "stdout", text: ["1\n", "2"] },
        {
          output_type: "execute_result",
          execution_count: 7,
          data: { "text/plain": ["3"], "image/png": "aGk=" },
          metadata: {},
        },
        { output_type: "error", ename: "E", evalue: "v", traceback: ["t"] },
      ],
    },
    { cell_type: "markdown", id: "b", metadata: {}, source: ["# é"] },
    { cell_type: "code", id: "c", metadata: {}, source: [], execution_count: null, outputs: [] },
  ]);
});

test("ipynbOf replaces invalid and repeated cell ids and keeps the originals in the metadata", () => {
  const cells = ["cell-1", "a b", "<>", "c"].map((id, at) => createdCellMessage(id, "markdown", "", at));
  expect(parseIpynb(ipynbOf(notebookOfMessages(cells), "r")).cells.map(({ id, metadata }) => [id, metadata])).toEqual([
    ["cell-1", {}],
    ["cell-2", { assay: { cell_id: "a b" } }],
    ["cell-3", { assay: { cell_id: "<>" } }],
    ["c", {}],
  ]);
});

test("ipynbOf notes values that were left out", () => {
  const large = { "image/png": { mime: "image/png", bytes: 9e7 } };
  const shown = notebookOfMessages(
    [createdCellMessage("a", "code", "", 0)],
    [
      { type: "start_cell", cell_id: "a", run_sequencer: 7 },
      outputMessage({ output_type: "display_data", data: large, metadata: {} }),
      outputMessage({
        output_type: "display_data",
        data: { ...large, "text/plain": "<Figure>", "application/json": { a: 1 } },
        metadata: null,
      }),
    ],
  );
  expect(parseIpynb(ipynbOf(shown, "python")).cells[0]?.outputs).toEqual([
    { output_type: "display_data", data: { "text/plain": ["[image/png is not in this file]"] }, metadata: {} },
    { output_type: "display_data", data: { "text/plain": ["<Figure>"], "application/json": { a: 1 } }, metadata: {} },
  ]);
});
