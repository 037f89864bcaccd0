import { expect, test } from "vitest";
import { needsOf } from "./html";
import { hushed, withoutTracks } from "./hush";

const pandas = `<div>
<style scoped>
    .dataframe tbody tr th { vertical-align: top; }
</style>
<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>a</th></tr></thead>
<tbody><tr><th>0</th><td>1</td></tr></tbody></table></div>`;

test.each([
  ["pandas' table", pandas, false],
  ["plain text and links", "<p>a <b>b</b> <a href='https://example.com/'>c</a></p>", false],
  ["an embedded page, which no frame could show either", "<iframe src='https://example.com/'></iframe>", false],
  ["a script", "<p>x</p><script>1</script>", true],
  ["a handler", "<p onclick='x()'>x</p>", true],
  ["a style of its own", "<p style='color: red'>x</p>", true],
  ["a style sheet", "<style>p { color: red }</style><p>x</p>", true],
  ["a form", "<input type=checkbox>", true],
  ["a drawing", "<svg><rect/></svg>", true],
  ["an element of its own", "<x-plot></x-plot>", true],
])("%s", (_, html, frame) => {
  expect(needsOf(html).frame).toBe(frame);
});

test("what would have to be fetched is named, links are not", () => {
  const html = `<img src="https://example.com/a.png"><a href="https://example.com/">x</a><script src="//cdn/x.js"></script>
    <img src="data:image/png;base64,aGk="><iframe src="/api"></iframe>`;
  expect(needsOf(html).outside).toEqual(["https://example.com/a.png", "//cdn/x.js", "/api"]);
});

test("styles and handlers get names that a policy does not mind, texts stay", () => {
  expect(hushed("<p style='a: b' onclick=x>style = 1, once = 2</p>")).toBe(
    "<p data-was-style='a: b' data-was-onclick=x>style = 1, once = 2</p>",
  );
  expect(hushed(`<p title="a style = b">`)).toBe(`<p title="a style = b">`);
  expect(hushed(`<p class="a"style="b">`)).toBe(`<p class="a"data-was-style="b">`);
  expect(hushed(`<p title="a>b" style="c">`)).toBe(`<p title="a>b" data-was-style="c">`);
  expect(hushed(`<p data-x=it's style="c">`)).toBe(`<p data-x=it's data-was-style="c">`);
  expect(hushed("<STYLE scoped>p{}</STYLE><styles>")).toBe("<noframes scoped>p{}</noframes><styles>");
});

test("subtitles are not fetched while HTML is looked at, and are named", () => {
  const html = '<video><track default src="https://example.com/t.vtt"></video>';
  expect(hushed(html)).toBe('<video><track default data-was-src="https://example.com/t.vtt"></video>');
  expect(needsOf(html).outside).toEqual(["https://example.com/t.vtt"]);
  expect(withoutTracks(html)).toBe(hushed(html));
  const own = '<p style="a"><video><track default src="data:text/vtt,WEBVTT"></video>';
  expect(withoutTracks(own)).toBe(own);
});
