/** A traceback in three parts; each but the last may be "". */
export interface Traceback {
  /** Frames that are folded at first. */
  earlier: string;
  /** How many frames that are. */
  count: number;
  /** The frames next to the fault, and the fault itself. */
  recent: string;
}

/** Frames that are shown at once. */
const shown = 3;

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are taken off by their ESC
const colors = /\x1b\[[0-9;:]*m/g;

/** How frames begin: Python's own, and IPython's of several versions. */
const frame =
  /^(?:\s{0,4}File ["<~/.\w].*?(?:, line \d+|:\d+)|(?:Cell|Input) In ?\[|<ipython-input-|[~/]\S*?(?:\.py)?(?::\d+)? in )/;

/** Finds the frames of a traceback, so that those far from the fault can be folded. */
export function splitTraceback(text: string): Traceback {
  const lines = text.split("\n");
  const starts: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (frame.test(line.slice(0, 1000).replace(colors, ""))) starts.push(index);
  }
  const from = starts.at(-shown);
  const first = starts[0];
  if (from === undefined || first === undefined || starts.length <= shown + 1)
    return { earlier: "", count: 0, recent: text };
  return {
    earlier: lines.slice(first, from).join("\n"),
    count: starts.length - shown,
    recent: [...lines.slice(0, first), ...lines.slice(from)].join("\n"),
  };
}
