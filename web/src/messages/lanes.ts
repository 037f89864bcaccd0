export type Lane = "console" | "model" | "agent" | "server" | "kernel";

/**
 * The peers in the order of their lanes, left to right. Requests of the agent point to the right,
 * answers to the left; those of its models the other way round, so that no arrow crosses another
 * lane than it must.
 */
const lanesWithModel: readonly Lane[] = ["console", "model", "agent", "server", "kernel"];
const lanesWithoutModel = lanesWithModel.filter((lane) => lane !== "model");

/** Returns the lanes of a trace, with that of the agent's models if it has called any. */
export function lanesOf(hasModelCalls: boolean): readonly Lane[] {
  return hasModelCalls ? lanesWithModel : lanesWithoutModel;
}

/** An arrow between two lanes. */
export interface LaneArrow {
  from: Lane;
  to: Lane;
}

/**
 * Returns the arrow of a hop such as "agent>server"; null for other hops, and for those of lanes
 * that are not shown, which are notes on the server's lane.
 */
export function arrowOfHop(hop: string, lanes: readonly Lane[]): LaneArrow | null {
  const [from, to, ...rest] = hop.split(">").map((name) => lanes.find((lane) => lane === name));
  return from !== undefined && to !== undefined && from !== to && rest.length === 0 ? { from, to } : null;
}

/** Returns the middle of a lane as a fraction of the total width. */
export function laneMiddle(lane: Lane, lanes: readonly Lane[]): number {
  return (lanes.indexOf(lane) + 0.5) / lanes.length;
}

/** Returns which peer determines the colour of an arrow: the model, or else the peer of the server. */
export function colourOfArrow({ from, to }: LaneArrow): Lane {
  if (from === "model" || to === "model") return "model";
  return from === "server" ? to : from;
}
