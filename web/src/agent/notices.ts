import type { Notice } from "./sessionSnapshot";

const maxNotices = 5;

/** The page's notices for the user, newest last. Adding a text that is already shown has no effect. */
export class Notices {
  list: readonly Notice[] = [];
  private next = 1;

  constructor(private readonly onChange: () => void) {}

  add(kind: Notice["kind"], text: string, action?: Notice["action"], onDismiss?: () => void): void {
    const others = this.list.filter((notice) => notice.text !== text);
    const more = { ...(action && { action }), ...(onDismiss && { onDismiss }) };
    const notice = { id: this.next++, kind, text, ...more };
    this.list = [...others, notice].slice(-maxNotices);
    this.onChange();
  }

  dismiss(id: number): void {
    const gone = this.list.find((notice) => notice.id === id);
    this.list = this.list.filter((notice) => notice !== gone);
    gone?.onDismiss?.();
    this.onChange();
  }
}
