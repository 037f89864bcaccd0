import { expect, test } from "vitest";
import { htmlRequirementsOf } from "./htmlRequirements";
import { maskHtml, maskTrackSources } from "./maskHtml";

const pandasTableHtml = `<div>
<style scoped>
    .dataframe tbody tr th { vertical-align: top; }
</style>
<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>a</th></tr></thead>
<tbody><tr><th>0</th><td>1</td></tr></tbody></table></div>`;

test.each([
  ["a pandas table needs no frame", pandasTableHtml, false],
  ["plain text and links need no frame", "<p>a <b>b</b> <a href='https://example.com/'>c</a></p>", false],
  [
    "an iframe needs no frame, because no frame could load it either",
    "<iframe src='https://example.com/'></iframe>",
    false,
  ],
  ["a script needs a frame", "<p>x</p><script>1</script>", true],
  ["an event handler needs a frame", "<p onclick='x()'>x</p>", true],
  ["a style attribute needs a frame", "<p style='color: red'>x</p>", true],
  ["a style element needs a frame", "<style>p { color: red }</style><p>x</p>", true],
  ["a form control needs a frame", "<input type=checkbox>", true],
  ["an SVG drawing needs a frame", "<svg><rect/></svg>", true],
  ["a custom element needs a frame", "<x-plot></x-plot>", true],
])("%s", (_, html, frame) => {
  expect(htmlRequirementsOf(html).needsFrame).toBe(frame);
});

test("externalSources lists what would be loaded, but not links", () => {
  const html = `<img src="https://example.com/a.png"><a href="https://example.com/">x</a><script src="//cdn/x.js"></script>
    <img src="data:image/png;base64,aGk="><iframe src="/api"></iframe>`;
  expect(htmlRequirementsOf(html).externalSources).toEqual(["https://example.com/a.png", "//cdn/x.js", "/api"]);
});

test("maskHtml renames style and handler attributes and style elements, and leaves text alone", () => {
  expect(maskHtml("<p style='a: b' onclick=x>style = 1, once = 2</p>")).toBe(
    "<p data-was-style='a: b' data-was-onclick=x>style = 1, once = 2</p>",
  );
  expect(maskHtml(`<p title="a style = b">`)).toBe(`<p title="a style = b">`);
  expect(maskHtml(`<p class="a"style="b">`)).toBe(`<p class="a"data-was-style="b">`);
  expect(maskHtml(`<p title="a>b" style="c">`)).toBe(`<p title="a>b" data-was-style="c">`);
  expect(maskHtml(`<p data-x=it's style="c">`)).toBe(`<p data-x=it's data-was-style="c">`);
  expect(maskHtml("<STYLE scoped>p{}</STYLE><styles>")).toBe("<noframes scoped>p{}</noframes><styles>");
});

test("maskHtml and maskTrackSources keep subtitles from loading; externalSources still lists them", () => {
  const html = '<video><track default src="https://example.com/t.vtt"></video>';
  expect(maskHtml(html)).toBe('<video><track default data-was-src="https://example.com/t.vtt"></video>');
  expect(htmlRequirementsOf(html).externalSources).toEqual(["https://example.com/t.vtt"]);
  expect(maskTrackSources(html)).toBe(maskHtml(html));
  const own = '<p style="a"><video><track default src="data:text/vtt,WEBVTT"></video>';
  expect(maskTrackSources(own)).toBe(own);
});
