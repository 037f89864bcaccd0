import { expect, test } from "vitest";
import { meanWithInterval, quantile975 } from "./interval";

// From printed tables of Student's t.
test.each([
  [1, 12.7062],
  [2, 4.3027],
  [3, 3.1824],
  [9, 2.2622],
  [10, 2.2281],
  [29, 2.0452],
  [30, 2.0423],
  [120, 1.9799],
  [1000, 1.9623],
])("the quantile of %i degrees is %f", (degrees, quantile) => {
  expect(quantile975(degrees)).toBeCloseTo(quantile, 4);
});

test("the interval is mean ± t·s/√n", () => {
  // mean 0.5, s 0.1, t(2) 4.30265: half is 4.30265 · 0.1 / √3 = 0.248414
  const rate = meanWithInterval([0.4, 0.5, 0.6]);
  expect(rate?.mean).toBeCloseTo(0.5, 12);
  expect(rate?.interval?.[0]).toBeCloseTo(0.251586, 5);
  expect(rate?.interval?.[1]).toBeCloseTo(0.748414, 5);
});

test("an interval stays within 0 and 1", () => {
  // mean 0.75, s 0.5, t(3) 3.18245: half is 0.795612, so from -0.045612 to 1.545612
  expect(meanWithInterval([1, 0, 1, 1])).toEqual({ mean: 0.75, interval: [0, 1], n: 4 });
});

test("equal observations have no interval, because their spread is unknown", () => {
  expect(meanWithInterval([1, 1, 1])).toEqual({ mean: 1, interval: null, n: 3 });
  expect(meanWithInterval([1 / 3, 1 / 3, 1 / 3])?.interval).toBeNull();
});

test("one observation has no interval, and no observation has no rate", () => {
  expect(meanWithInterval([1])).toEqual({ mean: 1, interval: null, n: 1 });
  expect(meanWithInterval([])).toBeNull();
});
