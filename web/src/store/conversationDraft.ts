import type { Item, ToolResult } from "./state";

type Tool = Extract<Item, { kind: "tool" }>;
type Happening = Extract<Item, { kind: "event" }>;
type Text = Extract<Item, { kind: "text" }>;

/** A conversation while it is changed: copied when that is first done. */
export class ConversationDraft {
  items: readonly Item[];

  constructor(private readonly base: readonly Item[]) {
    this.items = base;
  }

  /** Puts in the items of one entry, where its seq belongs, unless they are there already. */
  insert(seq: number, items: readonly Item[]): void {
    if (items.length === 0) return;
    let place = this.items.length;
    while (seq > 0 && place > 0) {
      const before = this.items[place - 1]?.seq ?? 0;
      if (before === seq) return;
      if (before < seq) break;
      place--;
    }
    this.own().splice(place, 0, ...items);
  }

  /** Gives the newest call with that id its result; false: there is none. */
  answer(id: string, result: ToolResult): boolean {
    const found = this.newest((item): item is Tool => item.kind === "tool" && item.id === id);
    if (found !== null) this.own()[found.place] = { ...found.item, result };
    return found !== null;
  }

  /** Puts an item in the place of another. */
  replace(place: number, item: Item): void {
    this.own()[place] = item;
  }

  /** The newest text that f picks. */
  newestText(f: (item: Text) => boolean): { item: Text; place: number } | null {
    return this.newest((item): item is Text => item.kind === "text" && f(item));
  }

  /** Makes another event of the newest one of that type. */
  rename(event: string, other: Pick<Happening, "event" | "text">): void {
    const found = this.newest((item): item is Happening => item.kind === "event" && item.event === event);
    if (found !== null) this.own()[found.place] = { ...found.item, ...other };
  }

  clear(): void {
    if (this.items.length > 0) this.items = [];
  }

  private newest<T extends Item>(is: (item: Item) => item is T): { item: T; place: number } | null {
    for (let place = this.items.length - 1; place >= 0; place--) {
      const item = this.items[place];
      if (item !== undefined && is(item)) return { item, place };
    }
    return null;
  }

  private own(): Item[] {
    if (this.items === this.base) this.items = [...this.items];
    return this.items as Item[];
  }
}
