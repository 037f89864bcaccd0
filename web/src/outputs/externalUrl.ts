/** Protocols of links that may be opened. */
const openableProtocols = new Set(["http:", "https:", "mailto:"]);

/** Returns the normalized URL of an absolute http, https or mailto link; null for any other link, such as a relative one. */
export function externalUrlOf(href: string): string | null {
  try {
    const url = new URL(href); // throws for relative ones
    return openableProtocols.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
