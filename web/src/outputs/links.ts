const openable = new Set(["http:", "https:", "mailto:"]);

/** Where a link leads, if that is the web or a mailbox; null: it leads nowhere that is let in. */
export function outside(href: string): string | null {
  try {
    const url = new URL(href); // relative ones are none
    return openable.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
