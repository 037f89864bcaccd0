import { vi } from "vitest";

const row = 40;

/** Lets the test's DOM have sizes: a list that scrolls is so high, a row in it 40 pixels. */
export function fakeLayout(height: number): void {
  const of = (element: HTMLElement) => (element.dataset.index === undefined ? height : row);
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (this: HTMLElement) {
    return of(this);
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
