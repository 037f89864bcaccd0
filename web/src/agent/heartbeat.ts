// Whether a connection is still there. A browser says nothing of one that is half
// open: it looks like one on which nothing happens. The server says how often it
// will give a sign of life, and then gives it.

/** How many of the announced intervals may pass without a message. */
const intervalsAllowed = 1.5;

/** How long to wait after that: a page that was asleep or busy has not read yet what has come. */
const graceMs = 5_000;

/** The longest interval that is believed. */
const maxIntervalMs = 3_600_000;

/** Watches one connection from the first announced interval until stop. */
export class Heartbeat {
  private intervalMs = 0;
  private lastReceived = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** onSilent is called when the connection is dead. patience multiplies the time that is waited. */
  constructor(
    private readonly onSilent: () => void,
    private readonly patience = 1,
  ) {}

  /** Must be called for each message. */
  received(): void {
    this.lastReceived = performance.now();
  }

  /** Sets the announced interval in milliseconds. Nonsense is ignored. */
  expectEvery(every: number): void {
    if (!(every > 0 && every <= maxIntervalMs)) return;
    const first = this.intervalMs === 0;
    this.intervalMs = every;
    if (first) this.watch();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Checks when a message is overdue, and once more after the grace period. */
  private watch(): void {
    this.timer = setTimeout(() => {
      if (!this.isLate()) this.watch();
      else this.timer = setTimeout(() => (this.isLate() ? this.onSilent() : this.watch()), graceMs);
    }, this.remainingMs());
  }

  private isLate(): boolean {
    return this.remainingMs() <= 0;
  }

  /** Returns how long the connection may stay silent from now on, in milliseconds. */
  private remainingMs(): number {
    return this.lastReceived + this.intervalMs * intervalsAllowed * this.patience - performance.now();
  }
}
