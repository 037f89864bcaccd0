import type { Notice } from "./live";

/** How many are kept. */
const most = 5;

/** What a person should know, newest last. The same text is not told twice while it is there. */
export class Notices {
  list: readonly Notice[] = [];
  private next = 1;

  constructor(private readonly changed: () => void) {}

  add(kind: Notice["kind"], text: string, action?: Notice["action"], dismissed?: () => void): void {
    const others = this.list.filter((notice) => notice.text !== text);
    const more = { ...(action && { action }), ...(dismissed && { dismissed }) };
    const notice = { id: this.next++, kind, text, ...more };
    this.list = [...others, notice].slice(-most);
    this.changed();
  }

  dismiss(id: number): void {
    const gone = this.list.find((notice) => notice.id === id);
    this.list = this.list.filter((notice) => notice !== gone);
    gone?.dismissed?.();
    this.changed();
  }
}
