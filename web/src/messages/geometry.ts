/** Browsers draw no element that is higher than 16 to 33 million pixels. */
const mostHeight = 8_000_000;

/** Pixels that one can scroll by before the element must be put in another place. */
const roomToScroll = 5000;

/**
 * Where rows of one height stand in an element that may be lower than all of them
 * together. What is seen begins at `top` pixels of the whole; a short scroll moves
 * by as much as it says, a long one goes to that share of the whole.
 */
export class Geometry {
  #count = 0;
  #viewport = 0;
  /** What is to be taken from a row's place in the whole for its place in the element. */
  #offset = 0;
  #scrollTop = 0;

  constructor(
    readonly rowHeight: number,
    readonly limit = mostHeight,
  ) {}

  /** How many rows there are, and how much of them is seen, in pixels. */
  resize(count: number, viewport: number): void {
    this.#count = count;
    this.#viewport = viewport;
    if (!this.scaled) this.#offset = 0;
  }

  get #whole(): number {
    return this.#count * this.rowHeight;
  }

  /** Of the element. */
  get height(): number {
    return Math.min(this.#whole, this.limit);
  }

  get scaled(): boolean {
    return this.#whole > this.limit;
  }

  /** The largest top. */
  get most(): number {
    return Math.max(0, this.#whole - this.#viewport);
  }

  get top(): number {
    return Math.min(Math.max(0, this.#scrollTop + this.#offset), this.most);
  }

  /** The element is at an end, and the whole is not: it has to be scrolled away from there to go on. */
  get stuck(): boolean {
    const atEnd = this.#scrollTop >= this.height - this.#viewport;
    return this.scaled && ((this.#scrollTop <= 0 && this.top > 0) || (atEnd && this.top < this.most));
  }

  /** Takes the place in where the element was scrolled to. */
  scrolledTo(scrollTop: number): void {
    const way = Math.abs(scrollTop - this.#scrollTop);
    this.#scrollTop = scrollTop;
    if (!this.scaled) return;
    const end = this.height - this.#viewport;
    if (way > this.#viewport) this.#offset = this.#share(scrollTop, end, this.most) - scrollTop;
  }

  /** Has what is seen begin at top, and returns where the element is to be scrolled to for it. */
  goTo(top: number): number {
    const wanted = Math.min(Math.max(0, top), this.most);
    const scrollTop = this.scaled ? this.#anchorOf(wanted) : wanted;
    this.#scrollTop = scrollTop;
    this.#offset = wanted - scrollTop;
    return scrollTop;
  }

  /** Where a row stands in the element, in pixels. */
  placeOf(row: number): number {
    return row * this.rowHeight - this.#offset;
  }

  /** The rows that are seen, the last one included; last is -1 where there are none. */
  get rows(): { first: number; last: number } {
    const first = Math.floor(this.top / this.rowHeight);
    const last = Math.min(this.#count, Math.ceil((this.top + this.#viewport) / this.rowHeight)) - 1;
    return { first: Math.min(first, Math.max(0, last)), last };
  }

  /** The top that shows a row, moved no more than needed. */
  topFor(row: number): number {
    const from = row * this.rowHeight;
    if (from < this.top) return from;
    const to = from + this.rowHeight - this.#viewport;
    return to > this.top ? to : this.top;
  }

  /** Where the element is scrolled to for a top: to its share, but with room to scroll on both sides. */
  #anchorOf(top: number): number {
    const end = this.height - this.#viewport;
    const room = Math.min(roomToScroll, end / 4);
    const share = this.#share(top, this.most, end);
    return Math.min(Math.max(share, Math.min(top, room)), end - Math.min(this.most - top, room));
  }

  #share(at: number, of: number, whole: number): number {
    return of <= 0 ? 0 : (at / of) * whole;
  }
}
