import { type Fields, isAbsent, linesOf } from "../json/read";
import { heldOfRun } from "./heldDraft";
import type { OpenRun } from "./openRun";
import { fitted, type Rich, readRich, released } from "./rich";
import type { RunsDraft } from "./runsDraft";

/** Takes in an output of a cell, which came in entry seq. One that cannot be followed changes nothing. */
export function foldOutput(runs: RunsDraft, seq: number, id: string, output: Fields): void {
  const kind = output.output_type;
  switch (kind) {
    case "clear_output":
      if (isAbsent(output.wait) || typeof output.wait === "boolean") runs.live(id)?.clear(output.wait === true);
      return;
    case "stream":
      write(runs, id, output);
      return;
    case "update_display_data":
    case "display_data":
    case "execute_result":
    case "error": {
      const content = readRich(seq, kind, output);
      const run = content && runs.live(id);
      if (content === null || run === null) return;
      if (kind === "update_display_data") update(runs, id, run, content);
      else add(runs, id, run, content);
    }
  }
}

function write(runs: RunsDraft, id: string, output: Fields): void {
  const { name } = output;
  const text = linesOf(output.text);
  if (text !== null && (name === "stdout" || name === "stderr")) runs.live(id)?.write(name, text);
}

function add(runs: RunsDraft, id: string, run: OpenRun, content: Rich): void {
  run.add(keepable(run, content));
  runs.noteDisplay(content.displayId, id);
  runs.held.set(id, run.heldBytes());
}

/** Makes an output small enough to be kept by a run, which may hold large values besides. */
function keepable(run: OpenRun, content: Rich): Rich {
  return fitted(content, run.room(), Math.max(0, heldOfRun - run.heldBytes()));
}

/** Replaces a display, whichever cells show it. */
function update(runs: RunsDraft, from: string, run: OpenRun, content: Rich): void {
  if (content.displayId === "") return;
  const own = keepable(run, content);
  const elsewhere = released(own);
  for (const id of runs.showing(content.displayId)) {
    const shown = runs.known(id);
    shown?.tape.update(id === from ? own : elsewhere);
    if (shown !== null) runs.held.set(id, shown.heldBytes());
  }
}
