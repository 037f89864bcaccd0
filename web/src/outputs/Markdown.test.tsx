import { cleanup, render, waitFor } from "@testing-library/react";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { Markdown } from "./Markdown";
import { markdownToHtml } from "./markdown";

beforeAll(() => {
  Object.defineProperty(document, "compatMode", { value: "CSS1Compat" }); // KaTeX asks for it; our page has a doctype
});

afterEach(cleanup);

const renderMarkdown = (source: string) => render(<Markdown source={source} />).container;

test("renders headings, task lists, tables and code", () => {
  const place = renderMarkdown("# Title\n\n- [x] done\n- [ ] open\n\n| a |\n| - |\n| 1 |\n\n```python\nx = '<b>'\n```");
  expect(place.querySelector("h1")?.textContent).toBe("Title");
  expect([...place.querySelectorAll("li")].map((li) => li.textContent?.trim())).toEqual(["☑ done", "☐ open"]);
  expect(place.querySelector("td")?.textContent).toBe("1");
  expect(place.querySelector("pre code")?.textContent).toBe("x = '<b>'\n");
});

test("a web link opens a new tab without opener or referrer", () => {
  const link = renderMarkdown("[x](https://example.com/a)").querySelector("a");
  expect(link?.getAttribute("href")).toBe("https://example.com/a");
  expect(link?.getAttribute("rel")).toBe("noopener noreferrer");
  expect(link?.getAttribute("target")).toBe("_blank");
});

test.each([
  ["[rows](data/rows.csv)", "rows (data/rows.csv)"],
  ["[api](/api/sessions)", "api (/api/sessions)"],
  ["[here](#below)", "here"],
  ["![plot](attachment:plot.png)", "[image not loaded: plot, attachment:plot.png]"],
  ["![](http://127.0.0.1:9/i.png)", "[image not loaded: http://127.0.0.1:9/i.png]"],
])("%s becomes text without an address", (source, text) => {
  const place = renderMarkdown(source);
  expect(place.textContent?.trim()).toBe(text);
  expect(place.querySelector("[href], [src]")).toBeNull();
});

test("an image with a data: URL is shown", () => {
  expect(renderMarkdown("![x](data:image/png;base64,aGk=)").querySelector("img")?.getAttribute("src")).toBe(
    "data:image/png;base64,aGk=",
  );
});

test("formulas become MathML without the TeX annotation", async () => {
  const place = renderMarkdown("half is $\\frac{1}{2}$, and\n\n$$\\int_0^1 x\\,dx$$");
  await waitFor(() => expect(place.querySelectorAll("math")).toHaveLength(2));
  expect(place.querySelector("annotation, [style], [class*=katex]")).toBeNull();
  expect(place.querySelectorAll("mfrac")).toHaveLength(1);
});

test("an invalid formula stays as TeX source, with the error as its title", async () => {
  const place = renderMarkdown("$\\frac{$ and $x$");
  await waitFor(() => expect(place.querySelector("math")).not.toBeNull());
  const wrong = place.querySelector(".math-inline[title]");
  expect(wrong?.textContent).toBe("$\\frac{$");
});

test.each([
  ["two prices", "it costs $5 and then $6."],
  ["a price range", "$10-$20"],
  ["dollars with blanks inside", "a $ b $ c"],
  ["escaped dollars", "\\$x\\$"],
  ["dollars in code", "`$x$`"],
])("does not treat as a formula: %s", (_, source) => {
  expect(markdownToHtml(source)).not.toContain("math-");
});

test("a formula with a coloured box sets no style attribute, which the CSP forbids", async () => {
  const set = vi.spyOn(Element.prototype, "setAttribute");
  const place = renderMarkdown("$\\fcolorbox{red}{blue}{x}$");
  await waitFor(() => expect(place.querySelector("math")).not.toBeNull());
  expect(set.mock.calls.filter(([name]) => name === "style")).toEqual([]);
  expect(place.querySelector("[style], [data-was-style]")).toBeNull();
});

test.each([
  ['{"totals": {"<region>": 5}}', '{"totals": {"<region>": 5}}'],
  ["<EVAL_ANSWER>\n**5**\n</EVAL_ANSWER>", "<EVAL_ANSWER>\n5\n</EVAL_ANSWER>"],
  ["<answer>\n**5**\n</answer>", "<answer>\n5\n</answer>"],
  ["a <region name='x'> b <b>c</b>", "a <region name='x'> b c"],
  ["<div>\n<region>5</region>\n</div>", "<region>5</region>"],
  ["- <x-plot/>", "<x-plot/>"],
])("tags that are not HTML elements are shown as text: %s", (source, text) => {
  const place = renderMarkdown(source);
  expect(place.textContent?.trim()).toBe(text);
});

test("HTML in Markdown is rendered, without scripts and comments", () => {
  const place = renderMarkdown("a <b>b</b> <IMG alt=c> <script>d</script><!-- <region> -->\n\n<u>e</u>");
  expect(place.querySelector("b")?.textContent).toBe("b");
  expect(place.textContent?.replace(/\s+/g, " ").trim()).toBe("a b [c] e");
});

test("a source that is too long or not a string is shown as it is", () => {
  const long = "x".repeat(400_001);
  expect(renderMarkdown(long).querySelector("pre")?.textContent).toBe(long);
  expect(renderMarkdown(5 as unknown as string).textContent).toBe("5");
});
