/** Who sends and who receives, from left to right: a request of the agent goes to the right, its answer comes back. */
export const lanes = ["console", "agent", "server", "kernel"] as const;

export type Lane = (typeof lanes)[number];

/** An arrow between two lanes. */
export interface Arrow {
  from: Lane;
  to: Lane;
}

/** The arrow of a hop such as "agent>server"; null: it is no way, but a note on the server's lane. */
export function arrowOf(hop: string): Arrow | null {
  const [from, to, ...rest] = hop.split(">").map((name) => lanes.find((lane) => lane === name));
  return from !== undefined && to !== undefined && from !== to && rest.length === 0 ? { from, to } : null;
}

/** Where the middle of a lane is, as a share of the width of all. */
export function middleOf(lane: Lane): number {
  return (lanes.indexOf(lane) + 0.5) / lanes.length;
}

/** Who the server talks with here, which gives the arrow its colour. */
export function peerOf({ from, to }: Arrow): Lane {
  return from === "server" ? to : from;
}
