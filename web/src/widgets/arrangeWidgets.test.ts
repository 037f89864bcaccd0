import { describe, expect, it } from "vitest";
import type { Widget } from "../protocol/messages";
import { arrangeWidgets, type WidgetPlacement } from "./arrangeWidgets";

const leaf: Widget = { type: "checkbox" };

function row(...keys: unknown[]): Widget {
  return { type: "row", items: keys.map((key) => ({ key })) };
}

/** Returns the nested keys as text: "a" or "a(b c)". */
function nestedKeysText(places: readonly WidgetPlacement[]): string {
  return places.map(({ key, items }) => (items.length > 0 ? `${key}(${nestedKeysText(items)})` : key)).join(" ");
}

describe("arrange", () => {
  it("shows what a layout names there and nowhere else", () => {
    const widgets = { "c/a": leaf, "c/b": leaf, "c/r": row("c/b", "c/a"), "c/z": leaf };
    expect(nestedKeysText(arrangeWidgets("c", widgets))).toBe("c/r(c/b c/a) c/z");
  });

  it("shows a widget that two layouts name in the first of them", () => {
    const widgets = { "c/a": leaf, "c/r": row("c/a"), "c/s": row("c/a") };
    expect(nestedKeysText(arrangeWidgets("c", widgets))).toBe("c/r(c/a) c/s");
  });

  it("ends with layouts in a circle, and loses none", () => {
    const widgets = { "c/p": row("c/q"), "c/q": row("c/p", "c/a"), "c/a": leaf, "c/self": row("c/self") };
    expect(nestedKeysText(arrangeWidgets("c", widgets))).toBe("c/p(c/q(c/a)) c/self");
  });

  it("gives a missing item a place, and passes over what names none", () => {
    expect(nestedKeysText(arrangeWidgets("c", { "c/r": row("c/gone", 7, null, { key: "x" }) }))).toBe("c/r(c/gone)");
    expect(nestedKeysText(arrangeWidgets("c", { "c/r": { type: "row", items: "c/a" } }))).toBe("c/r");
  });

  it("finds items that are named within their cell", () => {
    expect(nestedKeysText(arrangeWidgets("c", { "c/a": leaf, "c/r": row("a") }))).toBe("c/r(c/a)");
  });

  it("ends with layouts that are nested without end, and loses none", () => {
    const widgets: Record<string, Widget> = {};
    for (let n = 0; n < 5000; n++) widgets[`c/${n}`] = row(`c/${n + 1}`);
    const places = arrangeWidgets("c", widgets);
    const count = (some: readonly WidgetPlacement[]): number =>
      some.reduce((sum, { items }) => sum + 1 + count(items), 0);
    expect(count(places)).toBe(5001);
  });

  it("keeps spans within what can be drawn", () => {
    const items = [
      { key: "c/a", col_span: 1e9, row_span: -3 },
      { key: "c/b", col_span: "2", row_span: null },
    ];
    const [grid] = arrangeWidgets("c", { "c/a": leaf, "c/b": leaf, "c/g": { type: "grid", items } });
    expect(grid?.items.map(({ columnSpan, rowSpan }) => [columnSpan, rowSpan])).toEqual([
      [24, 1],
      [1, 1],
    ]);
  });
});
