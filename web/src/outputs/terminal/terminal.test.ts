import { expect, test } from "vitest";
import { linesText } from "./line";
import { Terminal } from "./terminal";
import { TerminalReader } from "./terminalReader";

function renderedText(text: string): string {
  const terminal = new Terminal();
  terminal.write(text);
  return linesText(terminal.lines);
}

test.each([
  ["plain lines are kept", "a\nb\n\nc", "a\nb\n\nc"],
  ["a line break at the end adds no line", "a\n", "a"],
  ["CR LF is one line break", "a\r\nb\r\n", "a\nb"],
  ["a progress bar overwrites itself after CR", " 10%|#  |\r 50%|## |\r100%|###|\n", "100%|###|"],
  ["a shorter text after CR leaves the rest of the line", "abcdef\rxy", "xycdef"],
  ["CSI K erases the rest of the line", "abcdef\rxy\x1b[K", "xy"],
  ["CSI 1 K erases the beginning of the line", "abcdef\x1b[3D\x1b[1K", "    ef"],
  ["CSI 2 K erases the whole line", "abc\x1b[2K\rx", "x"],
  ["text after backspaces overwrites", "abc\b\bX", "aXc"],
  ["backspaces stop at column 0", "ab\b\b\b\b\bX", "Xb"],
  ["two progress bars, one above the other", "a 0%\nb 0%\x1b[A\ra 9%\n\rb 9%", "a 9%\nb 9%"],
  ["the cursor does not move above the first line", "a\x1b[99Ab", "ab"],
  ["the cursor does not move below the last line", "a\nb\x1b[A\x1b[99Bc", "a\nbc"],
  ["CSI J erases everything below the cursor", "a\nb\nc\x1b[2A\r\x1b[J", ""],
  ["clearing the screen loses no text", "a\nb\x1b[2J\x1b[H\x1b[3Jc", "a\nbc"],
  ["CSI G and CSI C set the column", "abcdef\x1b[3GX\x1b[2CY", "abXdeY"],
  ["text at a far column is preceded by blanks", "\x1b[5Gx", "    x"],
  ["a column beyond the limit becomes the limit", "\x1b[999999999Gx", `${" ".repeat(512)}x`],
  ["private modes and unknown commands are ignored", "\x1b[?25la\x1b[>4;2mb\x1b[5nc\x1b[?25h", "abc"],
  ["titles, character sets and sixel pictures are ignored", "\x1b]0;title\x07a\x1b(Bb\x1bP0q#0~\x1b\\c\x1b=d", "abcd"],
  ["a bell is ignored", "a\x07b", "ab"],
  ["other control characters are made visible", "a\x00\x7f\x9bb", "a^@^?\ufffdb"],
  ["an ESC that begins no sequence is made visible", "a\x1b~b", "a^[~b"],
  ["a title that never ends is shown as text", `\x1b]0;${"x".repeat(5000)}`, `^[]0;${"x".repeat(5000)}`],
])("%s", (_, text, want) => {
  expect(renderedText(text)).toBe(want);
});

test("text written in pieces of any size gives the same lines", () => {
  const text = "a\x1b[31mred\x1b[0m\r\nb\x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x1b\\\rX\x1b[K\nc\x1b[Ad\b\be";
  const whole = new Terminal();
  whole.write(text);
  for (let size = 1; size < text.length; size++) {
    const terminal = new Terminal();
    for (let at = 0; at < text.length; at += size) terminal.write(text.slice(at, at + size));
    expect(linesText(terminal.lines)).toBe(linesText(whole.lines));
    expect(terminal.lines.map((line) => line.segments.map((s) => s.style))).toHaveLength(whole.lines.length);
  }
});

test("SGR sequences set colours and styles", () => {
  const terminal = new Terminal();
  terminal.write("\x1b[1;31ma\x1b[22;39;44mb\x1b[mc\x1b[38;5;208md\x1b[48:2::1:2:3me\x1b[97;103mf\x1b[0mg");
  const styles = terminal.lines[0]?.segments.map(({ text, style }) => [text, style && { ...style }]);
  expect(styles?.slice(0, 4)).toEqual([
    ["a", { bold: true, fg: 1 }],
    ["b", { bg: 4 }],
    ["c", null],
    ["d", { fg: [255, 135, 0] }],
  ]);
  expect(styles?.at(-1)).toEqual(["g", null]);
});

test.each(["38;5;99999", "38;2;999;0;0", "38", "48;5", "38;9;1", "999"])(
  "an invalid colour code changes nothing: %s",
  (code) => {
    const terminal = new Terminal();
    terminal.write(`\x1b[${code}mx`);
    expect(terminal.lines[0]?.segments).toEqual([{ text: "x", style: null }]);
  },
);

test.each([
  ["https://example.com/a", true],
  ["http://127.0.0.1:9/x", true],
  ["javascript:window.__pwned=1", false],
  ["JaVaScRiPt:window.__pwned=1", false],
  ["data:text/html,x", false],
  ["file:///etc/passwd", false],
  ["/api/sessions", false],
  ["https://", false],
])("OSC 8 with target %s makes a link: %s", (target, linked) => {
  const terminal = new Terminal();
  terminal.write(`\x1b]8;;${target}\x1b\\text\x1b]8;;\x1b\\after`);
  const links = terminal.lines[0]?.segments.map(({ style }) => style?.link);
  expect(links?.[0]).toBe(linked ? target : undefined);
  expect(links?.at(-1)).toBe(linked ? undefined : links?.[0]);
});

test("a very long line wraps, and linesText joins it again", () => {
  const text = "x".repeat(5000);
  const terminal = new Terminal();
  terminal.write(`${text}\nb`);
  expect(terminal.lines.length).toBe(4);
  expect(linesText(terminal.lines)).toBe(`${text}\nb`);
});

test("TerminalReader returns the same objects for unchanged lines", () => {
  const reader = new TerminalReader();
  const first = [...reader.read("a\nb\nc")];
  const second = [...reader.read("a\nb\ncd\ne")];
  expect(second[0]).toBe(first[0]);
  expect(second[1]).toBe(first[1]);
  expect(second[2]).not.toBe(first[2]);
});

test("TerminalReader starts again for a different text", () => {
  const reader = new TerminalReader();
  reader.read("\x1b[31mabc");
  expect(reader.read("xyz")).toEqual([{ segments: [{ text: "xyz", style: null }], length: 3, isWrapped: false }]);
});
