/** A traceback, split into frames to hide at first and frames to show. */
export interface SplitTraceback {
  /** The text of the frames that are hidden at first; "" if none are. */
  earlierFrames: string;
  /** How many frames are hidden at first. */
  earlierFrameCount: number;
  /** The text of the last three frames and of the error; the whole traceback if no frames are hidden. */
  recentFrames: string;
}

/** How many frames of a long traceback are shown at first. */
const recentFrameCount = 3;

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with ESC
const colorSequences = /\x1b\[[0-9;:]*m/g;

/** Matches the first line of a frame as Python and several versions of IPython print it. */
const frameStartPattern =
  /^(?:\s{0,4}File ["<~/.\w].*?(?:, line \d+|:\d+)|(?:Cell|Input) In ?\[|<ipython-input-|[~/]\S*?(?:\.py)?(?::\d+)? in )/;

/** Splits a traceback of at least 5 frames into the frames to hide and the last three. Any other text is not split. */
export function splitTraceback(text: string): SplitTraceback {
  const lines = text.split("\n");
  const starts: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (frameStartPattern.test(line.slice(0, 1000).replace(colorSequences, ""))) starts.push(index);
  }
  const from = starts.at(-recentFrameCount);
  const first = starts[0];
  if (from === undefined || first === undefined || starts.length <= recentFrameCount + 1)
    return { earlierFrames: "", earlierFrameCount: 0, recentFrames: text };
  return {
    earlierFrames: lines.slice(first, from).join("\n"),
    earlierFrameCount: starts.length - recentFrameCount,
    recentFrames: [...lines.slice(0, first), ...lines.slice(from)].join("\n"),
  };
}
