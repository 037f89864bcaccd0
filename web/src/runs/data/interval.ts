/** A mean with its 95 % interval, within 0 and 1; no interval for a single observation, or for such as are all equal. */
export interface Rate {
  mean: number;
  interval: readonly [number, number] | null;
  /** How many observations there are. */
  n: number;
}

/** The mean of observations and mean ± t(0.975, n-1)·s/√n; null: there are none. */
export function rateOf(observations: readonly number[]): Rate | null {
  const n = observations.length;
  if (n === 0) return null;
  const mean = observations.reduce((sum, x) => sum + x, 0) / n;
  if (observations.every((x) => x === observations[0])) return { mean, interval: null, n }; // s = 0 is no certainty
  const squares = observations.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  const half = quantile975(n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { mean, interval: [Math.max(0, mean - half), Math.min(1, mean + half)], n };
}

/** The 0.975 quantile of Student's t. degrees is a whole number from 1. */
export function quantile975(degrees: number): number {
  let low = 0;
  let high = Math.PI / 2;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (within(middle, degrees) < 0.95) low = middle;
    else high = middle;
  }
  return Math.tan(low) * Math.sqrt(degrees);
}

/** The chance that |t| is at most tan(angle)·√degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4. */
function within(angle: number, degrees: number): number {
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
