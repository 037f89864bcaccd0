import { Component, type ReactNode } from "react";

interface Props {
  order: readonly string[];
  scroller: HTMLDivElement | null;
  /** Returns where the cell at an index begins in the list, in pixels. */
  cellStart: (place: number) => number;
  scrollToEnd: () => void;
  children: ReactNode;
}

interface ScrollSnapshot {
  focused: HTMLElement | null;
  /** The cells on screen, the focused one first, and their distance from the top of the view in pixels. */
  visible: { id: string; top: number }[];
  atEnd: boolean;
}

/**
 * Keeps the scroll position and the focus when cells are inserted, removed or moved: a browser
 * drops the focus of an element that moves in the page, and shows other cells at the old scroll
 * position. It is a class because only getSnapshotBeforeUpdate runs before React changes the page.
 */
export class ScrollAnchor extends Component<Props> {
  override getSnapshotBeforeUpdate(before: Props): ScrollSnapshot | null {
    const { scroller } = this.props;
    if (before.order === this.props.order || scroller === null) return null;
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && scroller.contains(active) ? active : null;
    const end = scroller.scrollHeight - scroller.clientHeight;
    return {
      focused,
      visible: visibleCells(scroller, focused),
      atEnd: scroller.scrollTop > 0 && scroller.scrollTop >= end - 8,
    };
  }

  override componentDidUpdate(before: Props, _state: unknown, snapshot: ScrollSnapshot | null): void {
    const { scroller } = this.props;
    if (snapshot === null || scroller === null) return;
    const { order } = this.props;
    const typing = snapshot.focused?.closest(".cm-editor") != null;
    const appended = order.length > before.order.length && order.at(-1) !== before.order.at(-1);
    if (snapshot.atEnd && appended && !typing) this.props.scrollToEnd();
    else this.restoreScroll(scroller, snapshot);
    if (snapshot.focused !== null) restoreFocus(scroller, snapshot.focused);
  }

  private restoreScroll(scroller: HTMLElement, { visible, focused }: ScrollSnapshot): void {
    if (scroller.scrollTop === 0 && focused === null) return;
    const anchor = visible.find(({ id }) => this.props.order.includes(id));
    if (anchor === undefined) return;
    const row = cellElements(scroller).find((cell) => cell.dataset.cell === anchor.id);
    const top =
      row === undefined
        ? this.props.cellStart(this.props.order.indexOf(anchor.id)) - scroller.scrollTop
        : topOffset(scroller, row);
    if (Math.abs(top - anchor.top) >= 1) scroller.scrollTop += top - anchor.top;
  }

  override render() {
    return this.props.children;
  }
}

function cellElements(scroller: HTMLElement): HTMLElement[] {
  return [...scroller.querySelectorAll<HTMLElement>("[data-cell]")];
}

function topOffset(scroller: HTMLElement, element: HTMLElement): number {
  return element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
}

function visibleCells(scroller: HTMLElement, focused: HTMLElement | null): ScrollSnapshot["visible"] {
  const seen = cellElements(scroller)
    .map((cell) => ({ cell, id: cell.dataset.cell ?? "", top: topOffset(scroller, cell) }))
    .filter(({ cell, top }) => top + cell.offsetHeight > 0 && top < scroller.clientHeight);
  const first = seen.filter(({ cell }) => focused !== null && cell.contains(focused));
  return [...first, ...seen].map(({ id, top }) => ({ id, top }));
}

/** Focuses the same element again after cells were moved; if it is gone or disabled, the selected cell. */
function restoreFocus(scroller: HTMLElement, focused: HTMLElement): void {
  const kept = focused.isConnected && !focused.matches(":disabled");
  if (kept && document.activeElement === focused) return;
  const next = kept ? focused : (scroller.querySelector<HTMLElement>('[data-cell][tabindex="0"]') ?? scroller);
  next.focus({ preventScroll: true });
}
