import { matchRanges } from "./search";

/** How many milliseconds to wait for a text that is not rendered yet. */
const textRenderTimeoutMs = 1500;

/** Name of the CSS highlight that base.css styles. */
const highlightName = "found";

/**
 * Highlights all occurrences of a text in the element's rendered text and scrolls to occurrence n,
 * counted from 0; to the last one if there are fewer, because collapsed parts and frames are not in
 * the page. If there are none, tries again at each change of the page for 1.5 s. Aborting the
 * signal removes the highlight.
 */
export function highlightText(element: HTMLElement, wanted: string, nth: number, signal: AbortSignal): void {
  if (signal.aborted || !("highlights" in CSS)) return;
  const mark = () => {
    const ranges = rangesOfRenderedText(element, wanted);
    if (ranges.length === 0) return false;
    CSS.highlights.set(highlightName, new Highlight(...ranges));
    const range = ranges[Math.min(nth, ranges.length - 1)];
    range?.startContainer.parentElement?.scrollIntoView({ block: "nearest", inline: "nearest" });
    return true;
  };
  const drawn = new MutationObserver(() => {
    if (mark()) drawn.disconnect();
  });
  if (!mark()) drawn.observe(element, { childList: true, subtree: true, characterData: true });
  const timer = setTimeout(() => drawn.disconnect(), textRenderTimeoutMs);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    drawn.disconnect();
    CSS.highlights.delete(highlightName);
  });
}

/**
 * Returns the DOM ranges of the rendered text that match, ignoring case; a range may span several
 * elements.
 */
function rangesOfRenderedText(element: HTMLElement, wanted: string): Range[] {
  const nodes: { node: Node; start: number }[] = [];
  let text = "";
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, start: text.length });
    text += node.textContent ?? "";
  }
  let last = 0;
  return matchRanges(text, wanted).map(({ from, to }) => {
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
