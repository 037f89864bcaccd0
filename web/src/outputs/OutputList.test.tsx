import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { createNavigation, NavigationProvider } from "../commands/navigation";
import type { Output } from "../protocol/messages";
import { createStore, StoreProvider } from "../store/store";
import { OutputList } from "./OutputList";

afterEach(cleanup);

const streamOutput = (text: string): Output => ({ output_type: "stream", name: "stdout", text });
const richOutput = (data: Record<string, unknown>, metadata = {}): Output => ({
  output_type: "display_data",
  data,
  metadata,
});
const numberedLinesText = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`).join("\n");

test("a long text shows its first 40 and last 20 lines, and a button shows all of it", () => {
  render(<OutputList outputs={[streamOutput(numberedLinesText(12_345))]} />);
  expect(screen.getByText("line 40")).toBeTruthy();
  expect(screen.queryByText("line 41")).toBeNull();
  expect(screen.queryByText("line 12325")).toBeNull();
  expect(screen.getByText("line 12326")).toBeTruthy();
  const open = screen.getByRole("button", { name: "Show all 12,345 lines" });
  expect(open.getAttribute("aria-expanded")).toBe("false");
  fireEvent.click(open);
  expect(screen.getByRole("region", { name: "Standard output" })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Fold" }));
  expect(screen.getByText("line 40")).toBeTruthy();
});

test("stderr output is labelled", () => {
  render(<OutputList outputs={[{ output_type: "stream", name: "stderr", text: "careful" }]} />);
  expect(screen.getByText("stderr")).toBeTruthy();
});

test("an error shows its name first and hides earlier frames", () => {
  const traceback = ["Traceback:", ...Array.from({ length: 9 }, (_, i) => `  File "<a>", line ${i}, in f`), "E: x"];
  const { container } = render(
    <OutputList outputs={[{ output_type: "error", ename: "E\u202e", evalue: "the reason", traceback }]} />,
  );
  expect(container.querySelector("p")?.textContent).toBe("E<U+202E>: the reason");
  expect(screen.queryByText(/line 0,/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Show 6 earlier frames" }));
  expect(screen.getByText(/line 0,/)).toBeTruthy();
});

test("cells named in a traceback are links with the cell's number; a deleted cell is shown by the beginning of its id", () => {
  const id = "3f2a-aaaa-bbbb";
  const gone = "0123456789abcdef";
  const store = createStore();
  store.update((s) => ({
    ...s,
    notebook: {
      ...s.notebook,
      order: ["first", id],
      cells: { [id]: { id, type: "code", source: "", title: "", rev: 1 } },
    },
  }));
  const jumpTo = vi.fn();
  const traceback = [
    `  File "\x1b[32m<cell ${id}>\x1b[0m", line 4, in f`,
    `  File "<cell ${gone}>", line 1`,
    '  File "<cell >"',
  ];
  const output: Output = { output_type: "error", ename: "E", evalue: `(<cell ${id}>, line 1)`, traceback };
  const { container } = render(
    <StoreProvider value={store}>
      <NavigationProvider value={{ ...createNavigation(), jumpTo }}>
        <OutputList outputs={[output]} />
      </NavigationProvider>
    </StoreProvider>,
  );
  expect(container.querySelector("p")?.textContent).toBe("E: (cell 2, line 1)");
  expect(container.textContent).toContain('File "cell 2", line 4, in f');
  expect(container.textContent).toContain('File "cell 01234567…", line 1');
  expect(container.textContent).toContain('File "<cell >"');
  const links = screen.getAllByRole("button", { name: "cell 2" });
  expect(links).toHaveLength(2);
  for (const link of links) fireEvent.click(link);
  expect(jumpTo.mock.calls).toEqual([[id], [id]]);
  cleanup();
  const warning = `<cell ${id}>:1: UserWarning: old`;
  const { container: printed } = render(
    <StoreProvider value={store}>
      <OutputList outputs={[{ ...streamOutput(warning), name: "stderr" } as Output, streamOutput(warning)]} />
    </StoreProvider>,
  );
  expect(printed.textContent).toBe(`stderrcell 2:1: UserWarning: old${warning}`);
});

test("the form menu shows unique display names, with MIME types as titles", () => {
  const forms = richOutput({
    "text/html": "<table><tr><td>1</td></tr></table>",
    "application/vnd.dataresource+json": { schema: { fields: [] }, data: [] },
    "image/png": "aGk=",
    "text/x-odd": "odd",
    "text/plain": "plain",
  });
  render(<OutputList outputs={[forms]} />);
  const choice = screen.getByRole("combobox", { name: "Form of output 1" });
  expect(choice.getAttribute("title")).toBe("text/html");
  expect([...choice.querySelectorAll("option")].map((option) => option.textContent)).toEqual([
    "Table (text/html)",
    "Picture",
    "Table (application/vnd.dataresource+json)",
    "Plain text",
    "Text (text/x-odd)",
  ]);
  fireEvent.change(choice, { target: { value: "text/plain" } });
  expect(choice.getAttribute("title")).toBe("text/plain");
});

test("choosing another form shows the output in that form", () => {
  const { container } = render(
    <OutputList outputs={[richOutput({ "text/html": "<b>rich</b>", "text/plain": "plain" })]} />,
  );
  expect(container.querySelector("b")?.textContent).toBe("rich");
  fireEvent.change(screen.getByRole("combobox", { name: "Form of output 1" }), { target: { value: "text/plain" } });
  expect(container.querySelector("b")).toBeNull();
  expect(screen.getByText("plain")).toBeTruthy();
});

test("a picture has alternative text and a width, and can be enlarged", () => {
  render(
    <OutputList
      outputs={[richOutput({ "image/png": "aGk=", "text/plain": "<Figure>" }, { "image/png": { width: 320 } })]}
    />,
  );
  const image = screen.getByRole("img", { name: "<Figure>" });
  expect(image.getAttribute("src")).toBe("data:image/png;base64,aGk=");
  expect(image.getAttribute("width")).toBe("320");
  fireEvent.click(image);
  fireEvent.click(screen.getByLabelText("Close"));
  expect(screen.getAllByRole("img")).toHaveLength(1);
});

test("a picture that the browser cannot decode shows an error", () => {
  render(<OutputList outputs={[richOutput({ "image/png": "aGk=" })]} />);
  fireEvent.error(screen.getByRole("img"));
  expect(screen.getByText(/cannot be shown: its data is not a valid image\/png/)).toBeTruthy();
});

test("a JSON tree opens level by level, long lists in slices", () => {
  const { container } = render(
    <OutputList
      outputs={[richOutput({ "application/json": { list: Array.from({ length: 12_345 }, (_, i) => i) } })]}
    />,
  );
  fireEvent.click(screen.getByRole("button", { name: /12,345 items/ }));
  expect(container.querySelectorAll("button")).toHaveLength(4);
  fireEvent.click(screen.getByRole("button", { name: "[10000 … 12344]" }));
  fireEvent.click(screen.getByRole("button", { name: "[12300 … 12344]" }));
  expect(container.textContent).toContain("12344: 12344");
  expect(container.textContent).not.toContain("12299: ");
});

test.each([
  null,
  5,
  "x",
  [],
  {},
  { output_type: "x" },
  { output_type: "stream" },
  { output_type: "stream", text: 5, name: {} },
])("a malformed output does not affect the next one: %j", (output) => {
  render(<OutputList outputs={[output as unknown as Output, streamOutput("after")]} />);
  expect(screen.getByText("after")).toBeTruthy();
});

test.each([null, undefined, "x", { length: 3 }])("shows nothing if the outputs are %j", (outputs) => {
  const { container } = render(<OutputList outputs={outputs as unknown as Output[]} />);
  expect(container.textContent).toBe("");
});

test("an error with fields of wrong types is still shown as an error", () => {
  const odd = { output_type: "error", ename: 5, evalue: null, traceback: [1, "a line", {}] } as unknown as Output;
  const { container } = render(<OutputList outputs={[odd]} />);
  expect(container.textContent).toContain("Error");
  expect(screen.getByText("a line")).toBeTruthy();
});

test("an output whose rendering throws is replaced by the error and its plain text; a changed output is rendered again", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const data = { "text/plain": "its text" };
  const trap = new Proxy(data, {
    ownKeys() {
      throw new Error("no keys today");
    },
  });
  const { rerender } = render(<OutputList outputs={[richOutput(trap), streamOutput("after")]} />);
  expect(screen.getByRole("alert").textContent).toBe("Output 1 could not be shown: no keys todayits text");
  expect(screen.getByText("after")).toBeTruthy();
  rerender(<OutputList outputs={[richOutput(data), streamOutput("after")]} />);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("its text")).toBeTruthy();
});
