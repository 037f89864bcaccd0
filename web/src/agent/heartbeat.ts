// Detects connections that are half open: a browser does not report them, they only look silent. So
// the server announces how often it will send a message at least.

/** Number of announced intervals that may pass without a message before the connection counts as lost. */
const maxSilentIntervals = 1.5;

/**
 * Additional milliseconds to wait: a page that was asleep or busy has not read messages that have
 * arrived.
 */
const readGraceMs = 5_000;

/**
 * Longest interval between messages, in milliseconds, that a server may announce; a longer one is
 * ignored.
 */
const maxAnnouncedIntervalMs = 3_600_000;

/**
 * Watches a connection from the server's first announced interval until stop, and reports when it
 * has been silent for too long.
 */
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
    if (!(every > 0 && every <= maxAnnouncedIntervalMs)) return;
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
      else this.timer = setTimeout(() => (this.isLate() ? this.onSilent() : this.watch()), readGraceMs);
    }, this.remainingMs());
  }

  private isLate(): boolean {
    return this.remainingMs() <= 0;
  }

  /** Returns how long the connection may stay silent from now on, in milliseconds. */
  private remainingMs(): number {
    return this.lastReceived + this.intervalMs * maxSilentIntervals * this.patience - performance.now();
  }
}
