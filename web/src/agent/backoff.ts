/** Times between tries, in milliseconds. */
const first = 250;
const longest = 10_000;

/** How long to wait before try n, from 0, in milliseconds: doubling, and less by chance, so that not all come at once. */
export function delayOf(n: number, chance: () => number = Math.random): number {
  return Math.min(longest, first * 2 ** Math.min(n, 10)) * (0.5 + 0.5 * chance());
}

/**
 * Whether a connection that has ended like this is to be made again by itself:
 * docs/consoles.md, "How connections end". A server that has ended may be started
 * again, which a person at the page would have to tell it otherwise.
 */
export function comesBack(code: number, reason: string): boolean {
  switch (code) {
    case 1009:
    case 4001:
    case 4009:
      return false;
    case 1008:
      return reason.startsWith("too slow") || reason.startsWith("no sign of life");
    default:
      return true;
  }
}

/** Whether the server has refused the token. */
export function refusesToken(code: number, reason: string): boolean {
  return code === 1008 && reason.includes("token");
}
