// Whether a connection is still there. A browser says nothing of one that is half
// open: it looks like one on which nothing happens. The server says how often it
// will give a sign of life, and then gives it.

/** So many times as long as it is between two signs may pass without anything. */
const patience = 1.5;

/**
 * How much longer is waited then, in milliseconds: a page that was asleep or busy
 * has not read yet what has come.
 */
const another = 5_000;

/** The longest time between two signs that is believed, in milliseconds. */
const longest = 3_600_000;

/** Waits for the signs of life of one connection, from when the first is promised until stop. */
export class LifeSigns {
  private every = 0;
  private last = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** slack is how many times as patient as usual it is. */
  constructor(
    private readonly silent: () => void,
    private readonly slack = 1,
  ) {}

  /** Something has come. */
  heard(): void {
    this.last = performance.now();
  }

  /** The server will say something each so many milliseconds. What is no time is passed over. */
  promised(every: number): void {
    if (!(every > 0 && every <= longest)) return;
    const first = this.every === 0;
    this.every = every;
    if (first) this.wait();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Looks when nothing may have come for too long, and then once more. */
  private wait(): void {
    this.timer = setTimeout(() => {
      if (!this.isLate()) this.wait();
      else this.timer = setTimeout(() => (this.isLate() ? this.silent() : this.wait()), another);
    }, this.left());
  }

  private isLate(): boolean {
    return this.left() <= 0;
  }

  /** How long it may go on, in milliseconds. */
  private left(): number {
    return this.last + this.every * patience * this.slack - performance.now();
  }
}
