import { describe, expect, it } from "vitest";
import type { Widget } from "../protocol/messages";
import { arrangeWidgets, type WidgetPlacement } from "./arrangeWidgets";

const checkboxWidget: Widget = { type: "checkbox" };

function rowWidget(...keys: unknown[]): Widget {
  return { type: "row", items: keys.map((key) => ({ key })) };
}

/** Returns the tree of placed widgets as text, each by its key: "a" or "a(b c)". */
function placementTreeText(places: readonly WidgetPlacement[]): string {
  return places.map(({ key, items }) => (items.length > 0 ? `${key}(${placementTreeText(items)})` : key)).join(" ");
}

describe("arrangeWidgets", () => {
  it("places the items of a layout in it and nowhere else", () => {
    const widgets = {
      "c/a": checkboxWidget,
      "c/b": checkboxWidget,
      "c/r": rowWidget("c/b", "c/a"),
      "c/z": checkboxWidget,
    };
    expect(placementTreeText(arrangeWidgets("c", widgets))).toBe("c/r(c/b c/a) c/z");
  });

  it("places a widget that two layouts name in the first of them", () => {
    const widgets = { "c/a": checkboxWidget, "c/r": rowWidget("c/a"), "c/s": rowWidget("c/a") };
    expect(placementTreeText(arrangeWidgets("c", widgets))).toBe("c/r(c/a) c/s");
  });

  it("cuts cycles of layouts without losing a widget", () => {
    const widgets = {
      "c/p": rowWidget("c/q"),
      "c/q": rowWidget("c/p", "c/a"),
      "c/a": checkboxWidget,
      "c/self": rowWidget("c/self"),
    };
    expect(placementTreeText(arrangeWidgets("c", widgets))).toBe("c/p(c/q(c/a)) c/self");
  });

  it("places a missing item and ignores items without a key", () => {
    expect(placementTreeText(arrangeWidgets("c", { "c/r": rowWidget("c/gone", 7, null, { key: "x" }) }))).toBe(
      "c/r(c/gone)",
    );
    expect(placementTreeText(arrangeWidgets("c", { "c/r": { type: "row", items: "c/a" } }))).toBe("c/r");
  });

  it("resolves keys that are relative to the cell", () => {
    expect(placementTreeText(arrangeWidgets("c", { "c/a": checkboxWidget, "c/r": rowWidget("a") }))).toBe("c/r(c/a)");
  });

  it("limits the nesting of layouts without losing a widget", () => {
    const widgets: Record<string, Widget> = {};
    for (let n = 0; n < 5000; n++) widgets[`c/${n}`] = rowWidget(`c/${n + 1}`);
    const places = arrangeWidgets("c", widgets);
    const count = (some: readonly WidgetPlacement[]): number =>
      some.reduce((sum, { items }) => sum + 1 + count(items), 0);
    expect(count(places)).toBe(5001);
  });

  it("limits the spans of grid items", () => {
    const items = [
      { key: "c/a", col_span: 1e9, row_span: -3 },
      { key: "c/b", col_span: "2", row_span: null },
    ];
    const [grid] = arrangeWidgets("c", {
      "c/a": checkboxWidget,
      "c/b": checkboxWidget,
      "c/g": { type: "grid", items },
    });
    expect(grid?.items.map(({ columnSpan, rowSpan }) => [columnSpan, rowSpan])).toEqual([
      [24, 1],
      [1, 1],
    ]);
  });
});
