import type { ConversationItem, ToolResult } from "./state";

type ToolItem = Extract<ConversationItem, { kind: "tool" }>;
type EventItem = Extract<ConversationItem, { kind: "event" }>;
type TextItem = Extract<ConversationItem, { kind: "text" }>;

/** A conversation while it is changed. The list is copied at the first change. */
export class ConversationDraft {
  items: readonly ConversationItem[];

  constructor(private readonly base: readonly ConversationItem[]) {
    this.items = base;
  }

  /** Inserts the items of entry seq in the order of entries, unless they are there already. seq 0 appends. */
  insert(seq: number, items: readonly ConversationItem[]): void {
    if (items.length === 0) return;
    let index = this.items.length;
    while (seq > 0 && index > 0) {
      const before = this.items[index - 1]?.seq ?? 0;
      if (before === seq) return;
      if (before < seq) break;
      index--;
    }
    this.writable().splice(index, 0, ...items);
  }

  /** Sets the result of the newest tool call with this id; returns false if there is no such call. */
  setResult(id: string, result: ToolResult): boolean {
    const found = this.newest((item): item is ToolItem => item.kind === "tool" && item.id === id);
    if (found !== null) this.writable()[found.index] = { ...found.item, result };
    return found !== null;
  }

  /** Replaces the item at an index. */
  replace(index: number, item: ConversationItem): void {
    this.writable()[index] = item;
  }

  /** Returns the newest text for which `matches` returns true; null if there is none. */
  newestText(matches: (item: TextItem) => boolean): { item: TextItem; index: number } | null {
    return this.newest((item): item is TextItem => item.kind === "text" && matches(item));
  }

  /** Changes the type and the text of the newest event of a type, if there is one. */
  changeNewestEvent(event: string, other: Pick<EventItem, "event" | "text">): void {
    const found = this.newest((item): item is EventItem => item.kind === "event" && item.event === event);
    if (found !== null) this.writable()[found.index] = { ...found.item, ...other };
  }

  clear(): void {
    if (this.items.length > 0) this.items = [];
  }

  private newest<T extends ConversationItem>(
    matches: (item: ConversationItem) => item is T,
  ): { item: T; index: number } | null {
    for (let index = this.items.length - 1; index >= 0; index--) {
      const item = this.items[index];
      if (item !== undefined && matches(item)) return { item, index };
    }
    return null;
  }

  private writable(): ConversationItem[] {
    if (this.items === this.base) this.items = [...this.items];
    return this.items as ConversationItem[];
  }
}
