/**
 * Returns SVG source as a data: URL for an <img>, where no script runs and nothing is
 * loaded. Not a blob: URL, because that would have this page's origin if opened in a tab.
 */
export function svgDataUrl(text: string): string {
  const named = /<svg\b[^>]*\sxmlns\s*=/.test(text)
    ? text
    : text.replace(/<svg\b/, '<svg xmlns="http://www.w3.org/2000/svg"');
  // A lone half of a surrogate pair, which encodeURIComponent refuses, becomes U+FFFD.
  const whole = new TextDecoder().decode(new TextEncoder().encode(named));
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(whole)}`;
}
