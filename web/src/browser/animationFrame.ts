/**
 * Calls f before the browser's next animation frame, or after 250 ms in a hidden page. Returns a function
 * that cancels the call.
 */
export function onNextAnimationFrame(f: () => void): () => void {
  if (document.visibilityState === "hidden") {
    const timer = setTimeout(f, 250);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(f);
  return () => cancelAnimationFrame(frame);
}
