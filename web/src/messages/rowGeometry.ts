/**
 * Maximum height in pixels of the scrolled element: browsers do not draw elements higher than 16 to
 * 33 million pixels.
 */
const maxElementHeightPx = 8_000_000;

/** Scroll room, in pixels, that is kept above and below the visible rows in a scaled list. */
const scrollRoomPx = 5000;

/**
 * Maps rows of equal height to positions in an element that may be lower than all rows together.
 * `top` is the first visible pixel of all rows. A short scroll moves the rows by the same distance,
 * a long one goes to the proportional position.
 */
export class RowGeometry {
  #count = 0;
  #viewport = 0;
  /** Subtracted from a row's position to get its position in the element. */
  #offset = 0;
  #scrollTop = 0;

  constructor(
    readonly rowHeight: number,
    readonly limit = maxElementHeightPx,
  ) {}

  /** Sets the number of rows and the height of the visible part, in pixels. */
  resize(count: number, viewport: number): void {
    this.#count = count;
    this.#viewport = viewport;
    if (!this.isScaled) this.#offset = 0;
  }

  get #whole(): number {
    return this.#count * this.rowHeight;
  }

  /** Height of the element in pixels. */
  get height(): number {
    return Math.min(this.#whole, this.limit);
  }

  get isScaled(): boolean {
    return this.#whole > this.limit;
  }

  /** The largest value of top. */
  get maxTop(): number {
    return Math.max(0, this.#whole - this.#viewport);
  }

  get top(): number {
    return Math.min(Math.max(0, this.#scrollTop + this.#offset), this.maxTop);
  }

  /** The element is scrolled to an end although there are more rows: it must be scrolled back to continue. */
  get needsRescroll(): boolean {
    const atEnd = this.#scrollTop >= this.height - this.#viewport;
    return this.isScaled && ((this.#scrollTop <= 0 && this.top > 0) || (atEnd && this.top < this.maxTop));
  }

  /** Updates the position after the element was scrolled. */
  onScrolledTo(scrollTop: number): void {
    const way = Math.abs(scrollTop - this.#scrollTop);
    this.#scrollTop = scrollTop;
    if (!this.isScaled) return;
    const end = this.height - this.#viewport;
    if (way > this.#viewport) this.#offset = this.#share(scrollTop, end, this.maxTop) - scrollTop;
  }

  /** Sets top and returns the scrollTop that the element must have. */
  goTo(top: number): number {
    const wanted = Math.min(Math.max(0, top), this.maxTop);
    const scrollTop = this.isScaled ? this.#anchorOf(wanted) : wanted;
    this.#scrollTop = scrollTop;
    this.#offset = wanted - scrollTop;
    return scrollTop;
  }

  /** Returns the position of a row in the element, in pixels. */
  rowTop(row: number): number {
    return row * this.rowHeight - this.#offset;
  }

  /** The visible rows, both inclusive; last is -1 if there are none. */
  get rows(): { first: number; last: number } {
    const first = Math.floor(this.top / this.rowHeight);
    const last = Math.min(this.#count, Math.ceil((this.top + this.#viewport) / this.rowHeight)) - 1;
    return { first: Math.min(first, Math.max(0, last)), last };
  }

  /** Returns the value of top that makes a row visible with the least movement. */
  topFor(row: number): number {
    const from = row * this.rowHeight;
    if (from < this.top) return from;
    const to = from + this.rowHeight - this.#viewport;
    return to > this.top ? to : this.top;
  }

  /** Returns the scrollTop for a top: the proportional position, with room to scroll on both sides. */
  #anchorOf(top: number): number {
    const end = this.height - this.#viewport;
    const room = Math.min(scrollRoomPx, end / 4);
    const share = this.#share(top, this.maxTop, end);
    return Math.min(Math.max(share, Math.min(top, room)), end - Math.min(this.maxTop - top, room));
  }

  #share(at: number, of: number, whole: number): number {
    return of <= 0 ? 0 : (at / of) * whole;
  }
}
