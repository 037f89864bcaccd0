import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ConversationItem } from "../store/state";
import { Conversation } from "./Conversation";
import { CellNameProvider } from "./cellName";
import { fakeLayout } from "./fakeLayout";

vi.mock("../outputs/Markdown", () => ({ Markdown: ({ source }: { source: string }) => <p data-markdown>{source}</p> }));

beforeEach(() => fakeLayout(600));
afterEach(cleanup);

const textItem = (seq: number, text: string): ConversationItem => ({ kind: "text", seq, role: "assistant", text });
const toolItem = (seq: number, more: object = {}): ConversationItem => ({
  kind: "tool",
  seq,
  id: `t${seq}`,
  name: "run_cell",
  input: { cell_id: "abc" },
  ...more,
});
const manyItems = Array.from({ length: 5000 }, (_, n) => textItem(n + 1, `line ${n}`));

function scrollArea(): HTMLElement {
  return screen.getByRole("log");
}

/** Scrolls as a user does: a wheel event first, then the new position. */
function scrollTo(top: number): void {
  act(() => {
    if (top < scrollArea().scrollTop) fireEvent.wheel(scrollArea(), { deltaY: -100 });
    scrollArea().scrollTop = top;
    scrollArea().dispatchEvent(new Event("scroll"));
  });
}

describe("a long conversation", () => {
  test("renders only the visible rows, and starts at the end", () => {
    render(<Conversation items={manyItems} stream={null} />);
    expect(screen.getByText("line 4999")).toBeTruthy();
    expect(screen.queryByText("line 0")).toBeNull();
    expect(document.querySelectorAll("[data-index]").length).toBeLessThan(60);
  });

  test("scrolls to new items while at the end", () => {
    const { rerender } = render(<Conversation items={manyItems} stream={null} />);
    scrollTo(scrollArea().scrollTop);
    rerender(<Conversation items={[...manyItems, textItem(5001, "the newest")]} stream={null} />);
    expect(screen.getByText("the newest")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Jump to latest" })).toBeNull();
  });

  test("stays where the user scrolled to, and offers a button to the end", () => {
    const { rerender } = render(<Conversation items={manyItems} stream={null} />);
    scrollTo(4000);
    rerender(<Conversation items={[...manyItems, textItem(5001, "the newest")]} stream={null} />);
    expect(scrollArea().scrollTop).toBe(4000);
    expect(screen.queryByText("the newest")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Jump to latest" }));
    scrollTo(scrollArea().scrollTop);
    expect(screen.getByText("the newest")).toBeTruthy();
  });
});

describe("an arriving reply", () => {
  test("is shown block by block, code of a tool call as code", () => {
    const stream = [
      { type: "thinking" as const, text: "I wonder" },
      { type: "tool_use" as const, name: "create_cell", text: '{"position": 0, "source": "a = 1\\nb' },
    ];
    render(<Conversation items={[]} stream={stream} />);
    expect(screen.getByText("I wonder")).toBeTruthy();
    expect(screen.getByText(/a = 1\s+b/)).toBeTruthy();
  });

  test("does not re-render the items before it", () => {
    const input = vi.fn(() => ({ cell_id: "abc" }));
    const item = Object.defineProperty(toolItem(1), "input", { get: input }) as ConversationItem;
    const { rerender } = render(<Conversation items={[item]} stream={[{ type: "text", text: "a" }]} />);
    const drawn = input.mock.calls.length;
    rerender(<Conversation items={[item]} stream={[{ type: "text", text: "ab" }]} />);
    expect(screen.getByText("ab")).toBeTruthy();
    expect(input.mock.calls.length).toBe(drawn);
  });
});

test("shows the user's message as plain text, not Markdown", () => {
  const text = 'Sum <b>slowly</b>: {"totals": {"<region>": 1}}\n  *x*';
  const { container } = render(<Conversation items={[{ kind: "text", seq: 1, role: "user", text }]} stream={null} />);
  expect(container.querySelector("article")?.textContent).toBe(text);
  expect(container.querySelector("b, em")).toBeNull();
  expect(container.querySelector("[data-markdown]")).toBeNull();
});

describe("a tool call", () => {
  const result = { isError: true, content: [{ type: "text" as const, text: "no such cell" }] };

  test("is one line that opens to input and result", () => {
    render(<Conversation items={[toolItem(1, { result })]} stream={null} />);
    expect(screen.getByText("failed")).toBeTruthy();
    expect(screen.queryByText("no such cell")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: /run_cell/ }));
    expect(screen.getByText("no such cell")).toBeTruthy();
  });

  test("waits for its result until none can come", () => {
    const submit = toolItem(1, { name: "mcp__assay__submit_response" });
    const { rerender } = render(<Conversation items={[submit]} stream={null} live />);
    expect(screen.getByRole("img", { name: "no result yet" })).toBeTruthy();
    rerender(<Conversation items={[submit]} stream={null} live idle />);
    expect(screen.queryByRole("img")).toBeNull();
    rerender(<Conversation items={[submit, textItem(2, "more")]} stream={null} live />);
    expect(screen.queryByRole("img")).toBeNull();
    rerender(<Conversation items={[toolItem(1), textItem(2, "more")]} stream={null} live />);
    expect(screen.getByRole("img", { name: "no result yet" })).toBeTruthy();
    const exit: ConversationItem = { kind: "event", seq: 3, event: "exit", text: "The agent exited.", metadata: {} };
    rerender(<Conversation items={[toolItem(1), exit]} stream={null} live />);
    expect(screen.getByText("no result")).toBeTruthy();
  });

  test("stays open when items are inserted before it", () => {
    const { rerender } = render(<Conversation items={[toolItem(7, { result })]} stream={null} />);
    fireEvent.click(screen.getByRole("button", { name: /run_cell/ }));
    rerender(<Conversation items={[textItem(3, "earlier"), toolItem(7, { result })]} stream={null} />);
    expect(screen.getByText("no such cell")).toBeTruthy();
  });

  test("links to the cells in its input and result", () => {
    const made = { isError: false, content: [{ type: "text" as const, text: "cell_id: def\nstatus: ok" }] };
    render(
      <CellNameProvider value={({ id }) => <a href={`#${id}`}>{id}</a>}>
        <Conversation items={[toolItem(1, { result: made })]} stream={null} />
      </CellNameProvider>,
    );
    expect(screen.getAllByRole("link").map((link) => link.textContent)).toEqual(["abc", "def"]);
  });

  test("shows images of safe types only", () => {
    const content = [
      { type: "image", mime: "image/png", data: "AAAA" },
      { type: "image", mime: "image/svg+xml", data: "AAAA" },
      { type: "image", mime: 7, data: null },
    ];
    render(<Conversation items={[toolItem(1, { result: { isError: false, content } })]} stream={null} />);
    fireEvent.click(screen.getByRole("button", { name: /run_cell/ }));
    expect(screen.getAllByRole("img", { name: "Result of the tool" }).length).toBe(1);
    expect(screen.getAllByText(/This image cannot be shown/).length).toBe(2);
  });
});

describe("malformed items", () => {
  const deep = JSON.parse("[".repeat(5000) + "]".repeat(5000)) as unknown;
  const wrong: unknown[] = [
    7,
    null,
    [],
    {},
    deep,
    "<img src=x onerror=alert(1)>",
    "\u202egnp.exe\u0000",
    "x".repeat(300_000),
  ];
  const items = wrong.flatMap((value, n) => [
    { kind: "text", seq: n, role: "user", text: value, label: value },
    { kind: "text", seq: n, role: "assistant", text: value },
    { kind: "thinking", seq: n, text: value },
    { kind: "tool", seq: n, id: value, name: value, input: value },
    {
      kind: "tool",
      seq: n,
      id: "",
      name: "",
      input: { source: value, cell_id: value },
      result: { isError: value, content: [{ type: "text", text: value }] },
    },
    { kind: "event", seq: n, event: value, text: value, metadata: value },
    ...["retry", "waiting", "tick", "limit", "compacted"].map((event) => ({
      kind: "event",
      seq: n,
      event,
      text: value,
      metadata: { wait_ms: value, ticks: value, for: value, error: value },
    })),
    { kind: "error", seq: n, text: value, fatal: value },
    { kind: value, seq: n },
  ]) as unknown as ConversationItem[];

  test.each(items.map((item, n) => [n, item] as const))(
    "item %i is rendered as text, collapsed and open",
    (_, item) => {
      const { container } = render(<Conversation items={[item]} stream={null} live />);
      for (const button of screen.queryAllByRole("button", { expanded: false })) fireEvent.click(button);
      expect(container.querySelector("img[src=x]")).toBeNull();
      expect(container.textContent).not.toContain("\u202e");
      expect(container.textContent).not.toContain("\u0000");
      expect((container.textContent ?? "").length).toBeLessThan(65_000);
    },
  );

  test.each(wrong.map((value, n) => [n, value] as const))("block %i of a reply is rendered", (_, value) => {
    const stream = ["text", "thinking", "tool_use", value].map((type) => ({ type, name: value, text: value }));
    const { container } = render(<Conversation items={[]} stream={stream as never} />);
    expect((container.textContent ?? "").length).toBeLessThan(65_000);
  });
});
