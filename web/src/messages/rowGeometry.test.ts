import { describe, expect, test } from "vitest";
import { RowGeometry } from "./rowGeometry";

function newRowGeometry(count: number, limit?: number): RowGeometry {
  const geometry = new RowGeometry(20, limit);
  geometry.resize(count, 200);
  return geometry;
}

/**
 * Returns where the first visible row begins relative to the upper edge of the view, in pixels: 0,
 * or negative if it is partly hidden.
 */
function firstVisibleRowOffset(geometry: RowGeometry, scrollTop: number): number {
  return geometry.rowTop(geometry.rows.first) - scrollTop;
}

test("rows that fit are at their exact positions", () => {
  const geometry = newRowGeometry(1000);
  expect(geometry.height).toBe(20_000);
  geometry.onScrolledTo(510);
  expect(geometry.rows).toEqual({ first: 25, last: 35 });
  expect(geometry.rowTop(25)).toBe(500);
  geometry.onScrolledTo(19_800);
  expect(geometry.rows).toEqual({ first: 990, last: 999 });
});

test("an empty list has no visible rows", () => {
  expect(newRowGeometry(0).rows).toEqual({ first: 0, last: -1 });
  expect(newRowGeometry(1).rows).toEqual({ first: 0, last: 0 });
});

test("showing a row scrolls as little as possible", () => {
  const geometry = newRowGeometry(1000);
  geometry.goTo(1000);
  expect(geometry.topFor(49)).toBe(980);
  expect(geometry.topFor(55)).toBe(1000);
  expect(geometry.topFor(60)).toBe(1020);
});

describe("more rows than fit into the highest element", () => {
  const count = 2_000_000;
  const limit = 100_000;

  test("the scrollbar covers all rows", () => {
    const geometry = newRowGeometry(count, limit);
    expect(geometry.height).toBe(limit);
    geometry.onScrolledTo(limit - 200);
    expect(geometry.rows.last).toBe(count - 1);
    geometry.onScrolledTo((limit - 200) / 2);
    expect(geometry.rows.first).toBe(count / 2 - 5);
    geometry.onScrolledTo(0);
    expect(geometry.rows.first).toBe(0);
  });

  test("a short scroll moves the rows by the same distance", () => {
    const geometry = newRowGeometry(count, limit);
    const at = geometry.goTo(20_000_000);
    expect(geometry.rows.first).toBe(1_000_000);
    geometry.onScrolledTo(at + 60);
    expect(geometry.rows.first).toBe(1_000_003);
    geometry.onScrolledTo(at + 40);
    expect(geometry.rows.first).toBe(1_000_002);
  });

  test("correcting the scrollbar does not move the visible rows", () => {
    const geometry = newRowGeometry(count, limit);
    let at = geometry.goTo(20_000_000);
    for (let i = 1; i <= 500; i++) geometry.onScrolledTo(at + 100 * i);
    const { top } = geometry;
    expect(top).toBe(20_050_000);
    at = geometry.goTo(top);
    expect(geometry.top).toBeCloseTo(top, 3);
    expect(firstVisibleRowOffset(geometry, at)).toBeCloseTo(0, 3);
  });

  test("scrolling on at the end of the element reaches the last row", () => {
    const geometry = newRowGeometry(count, limit);
    let at = geometry.goTo(5000);
    let scrolls = 0;
    while (geometry.top > 0 && scrolls++ < 100) {
      at = Math.max(0, at - 100);
      geometry.onScrolledTo(at);
      if (geometry.needsRescroll) at = geometry.goTo(geometry.top);
    }
    expect(geometry.top).toBe(0);
    expect(geometry.needsRescroll).toBe(false);
    expect(scrolls).toBeLessThan(100);
  });

  test("near both ends the element scrolls exactly like the rows", () => {
    const geometry = newRowGeometry(count, limit);
    expect(geometry.goTo(350)).toBe(350);
    geometry.onScrolledTo(200);
    expect(geometry.top).toBe(200);
    expect(geometry.goTo(geometry.maxTop - 350)).toBe(limit - 200 - 350);
    geometry.onScrolledTo(limit - 200 - 180);
    expect(geometry.top).toBe(geometry.maxTop - 180);
  });
});
