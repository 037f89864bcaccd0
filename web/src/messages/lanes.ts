/**
 * The peers in the order of their lanes, left to right. Requests of the agent point to the right,
 * answers to the left.
 */
export const lanes = ["console", "agent", "server", "kernel"] as const;

export type Lane = (typeof lanes)[number];

/** An arrow between two lanes. */
export interface LaneArrow {
  from: Lane;
  to: Lane;
}

/**
 * Returns the arrow of a hop such as "agent>server"; null for other hops, which are notes on the
 * server's lane.
 */
export function arrowOfHop(hop: string): LaneArrow | null {
  const [from, to, ...rest] = hop.split(">").map((name) => lanes.find((lane) => lane === name));
  return from !== undefined && to !== undefined && from !== to && rest.length === 0 ? { from, to } : null;
}

/** Returns the middle of a lane as a fraction of the total width. */
export function laneMiddle(lane: Lane): number {
  return (lanes.indexOf(lane) + 0.5) / lanes.length;
}

/** Returns which peer of the server an arrow begins or ends at; it determines the arrow's colour. */
export function peerOfServer({ from, to }: LaneArrow): Lane {
  return from === "server" ? to : from;
}
