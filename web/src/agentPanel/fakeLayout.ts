import { vi } from "vitest";

const rowHeight = 40;

/**
 * Gives elements of the test DOM sizes: rows of a virtual list are 40 px high, everything else has
 * the given height.
 */
export function fakeLayout(height: number): void {
  const heightOf = (element: HTMLElement) => (element.dataset.index === undefined ? height : rowHeight);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return heightOf(this);
  });
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(height);
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockImplementation(function (this: HTMLElement) {
    const sized = this.querySelector<HTMLElement>("[style*=height]");
    return Number.parseFloat(sized?.style.height ?? "0");
  });
  vi.spyOn(HTMLElement.prototype, "scrollTo").mockImplementation(function (this: HTMLElement, to?: unknown) {
    const { top } = to as { top: number };
    this.scrollTop = Math.max(0, Math.min(top, this.scrollHeight - height));
    this.dispatchEvent(new Event("scroll"));
  });
}
