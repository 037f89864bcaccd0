/**
 * A mean from 0 to 1 with its 95 % confidence interval; null interval for a single observation or
 * if all are equal.
 */
export interface RateWithInterval {
  mean: number;
  interval: readonly [number, number] | null;
  /** Number of observations. */
  n: number;
}

/**
 * Returns the mean of observations with the interval mean ± t(0.975, n-1)·s/√n; null without
 * observations.
 */
export function meanWithInterval(observations: readonly number[]): RateWithInterval | null {
  const n = observations.length;
  if (n === 0) return null;
  const mean = observations.reduce((sum, x) => sum + x, 0) / n;
  if (observations.every((x) => x === observations[0])) return { mean, interval: null, n }; // s = 0 does not mean certainty
  const squares = observations.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  const half = quantile975(n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { mean, interval: [Math.max(0, mean - half), Math.min(1, mean + half)], n };
}

/** Returns the 0.975 quantile of Student's t distribution. degrees is an integer of at least 1. */
export function quantile975(degrees: number): number {
  let low = 0;
  let high = Math.PI / 2;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (tProbability(middle, degrees) < 0.95) low = middle;
    else high = middle;
  }
  return Math.tan(low) * Math.sqrt(degrees);
}

/** Returns the probability that |t| ≤ tan(angle)·√degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4. */
function tProbability(angle: number, degrees: number): number {
  const sin = Math.sin(angle);
  const cos = Math.cos(angle);
  const odd = degrees % 2 === 1;
  let term = odd ? cos : 1;
  let sum = 0;
  for (let k = odd ? 3 : 2; k <= degrees; k += 2) {
    sum += term;
    term *= ((k - 1) / k) * cos * cos;
  }
  return odd ? (2 / Math.PI) * (angle + sin * sum) : sin * sum;
}
