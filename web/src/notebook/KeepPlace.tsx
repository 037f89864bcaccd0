import { Component, type ReactNode } from "react";

interface Props {
  order: readonly string[];
  scroller: HTMLDivElement | null;
  /** Where the cell at that place begins in the list, in pixels. */
  startOf: (place: number) => number;
  toEnd: () => void;
  children: ReactNode;
}

interface Snapshot {
  focused: HTMLElement | null;
  /** The cells on the screen, the one with the focus first, with how far each is from the top of the view. */
  seen: { id: string; top: number }[];
  atEnd: boolean;
}

/**
 * Keeps what is on the screen and where the focus is when cells come, go and move:
 * a browser forgets the focus of an element that is put elsewhere, and leaves the
 * view where other cells are now. Only a class component is asked before React
 * changes the page.
 */
export class KeepPlace extends Component<Props> {
  override getSnapshotBeforeUpdate(before: Props): Snapshot | null {
    const { scroller } = this.props;
    if (before.order === this.props.order || scroller === null) return null;
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && scroller.contains(active) ? active : null;
    const end = scroller.scrollHeight - scroller.clientHeight;
    return {
      focused,
      seen: seenCells(scroller, focused),
      atEnd: scroller.scrollTop > 0 && scroller.scrollTop >= end - 8,
    };
  }

  override componentDidUpdate(before: Props, _state: unknown, snapshot: Snapshot | null): void {
    const { scroller } = this.props;
    if (snapshot === null || scroller === null) return;
    const { order } = this.props;
    const typing = snapshot.focused?.closest(".cm-editor") != null;
    const appended = order.length > before.order.length && order.at(-1) !== before.order.at(-1);
    if (snapshot.atEnd && appended && !typing) this.props.toEnd();
    else this.holdStill(scroller, snapshot);
    if (snapshot.focused !== null) restoreFocus(scroller, snapshot.focused);
  }

  private holdStill(scroller: HTMLElement, { seen, focused }: Snapshot): void {
    if (scroller.scrollTop === 0 && focused === null) return;
    const anchor = seen.find(({ id }) => this.props.order.includes(id));
    if (anchor === undefined) return;
    const row = cellElements(scroller).find((cell) => cell.dataset.cell === anchor.id);
    const top =
      row === undefined
        ? this.props.startOf(this.props.order.indexOf(anchor.id)) - scroller.scrollTop
        : topIn(scroller, row);
    if (Math.abs(top - anchor.top) >= 1) scroller.scrollTop += top - anchor.top;
  }

  override render() {
    return this.props.children;
  }
}

function cellElements(scroller: HTMLElement): HTMLElement[] {
  return [...scroller.querySelectorAll<HTMLElement>("[data-cell]")];
}

function topIn(scroller: HTMLElement, element: HTMLElement): number {
  return element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
}

function seenCells(scroller: HTMLElement, focused: HTMLElement | null): Snapshot["seen"] {
  const seen = cellElements(scroller)
    .map((cell) => ({ cell, id: cell.dataset.cell ?? "", top: topIn(scroller, cell) }))
    .filter(({ cell, top }) => top + cell.offsetHeight > 0 && top < scroller.clientHeight);
  const first = seen.filter(({ cell }) => focused !== null && cell.contains(focused));
  return [...first, ...seen].map(({ id, top }) => ({ id, top }));
}

/** Gives the focus back to what had it; where that is gone, to the cell that is selected now. */
function restoreFocus(scroller: HTMLElement, focused: HTMLElement): void {
  const kept = focused.isConnected && !focused.matches(":disabled");
  if (kept && document.activeElement === focused) return;
  const next = kept ? focused : (scroller.querySelector<HTMLElement>('[data-cell][tabindex="0"]') ?? scroller);
  next.focus({ preventScroll: true });
}
