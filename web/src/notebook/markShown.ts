import { matches } from "./find";

/** So long, in milliseconds, a text that is not drawn yet is waited for. */
const drawMs = 1500;

/** What base.css gives a look. */
const highlight = "found";

/**
 * Marks the text wherever it is drawn within the element, and brings the n-th of
 * these places, from 0, into view, or the last one that there is: what is folded
 * away or stands in a frame is not drawn. The marks go with the signal.
 */
export function markShown(element: HTMLElement, wanted: string, nth: number, signal: AbortSignal): void {
  if (signal.aborted || !("highlights" in CSS)) return;
  const mark = () => {
    const ranges = rangesOf(element, wanted);
    if (ranges.length === 0) return false;
    CSS.highlights.set(highlight, new Highlight(...ranges));
    const range = ranges[Math.min(nth, ranges.length - 1)];
    range?.startContainer.parentElement?.scrollIntoView({ block: "nearest", inline: "nearest" });
    return true;
  };
  const drawn = new MutationObserver(() => {
    if (mark()) drawn.disconnect();
  });
  if (!mark()) drawn.observe(element, { childList: true, subtree: true, characterData: true });
  const timer = setTimeout(() => drawn.disconnect(), drawMs);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    drawn.disconnect();
    CSS.highlights.delete(highlight);
  });
}

/** Where the text is drawn, also across elements. */
function rangesOf(element: HTMLElement, wanted: string): Range[] {
  const nodes: { node: Node; start: number }[] = [];
  let text = "";
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, start: text.length });
    text += node.textContent ?? "";
  }
  let last = 0;
  return matches(text, wanted).map(({ from, to }) => {
    while ((nodes[last + 1]?.start ?? Infinity) <= from) last++;
    let end = last;
    while ((nodes[end + 1]?.start ?? Infinity) < to) end++;
    const range = document.createRange();
    const [first, final] = [nodes[last], nodes[end]];
    if (first !== undefined) range.setStart(first.node, from - first.start);
    if (final !== undefined) range.setEnd(final.node, to - final.start);
    return range;
  });
}
