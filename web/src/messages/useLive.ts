import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { followTrace } from "./follow";
import type { FlowModel } from "./model";

/** How a trace goes on. */
export interface Live {
  /** ended: nothing comes any more. */
  state: "following" | "lost" | "ended";
  /** Why the connection was lost. */
  why: string;
  /** Looks whether there is another trace in the place of one that has ended; null: there can be none. */
  again: (() => void) | null;
}

/** What else is to be known of a trace that goes on. */
export interface LiveOptions {
  onEnd?: (() => void) | undefined;
  /** Another number when there may be another trace in the place of one that has ended; 0: not now. */
  renew?: number | undefined;
}

/** Keeps the model up with its trace, once it knows where that ends. watch null: it has ended. */
export function useLive(
  model: FlowModel,
  known: boolean,
  watch: string | null,
  { onEnd, renew = 0 }: LiveOptions,
): Live {
  const [begun, setBegun] = useState(known);
  if (known && !begun) setBegun(true);
  const [state, setState] = useState<Omit<Live, "again">>({ state: watch === null ? "ended" : "following", why: "" });
  const [round, setRound] = useState(0);
  const [seen, setSeen] = useState(renew);
  const ended = useEffectEvent(() => onEnd?.());
  // biome-ignore lint/correctness/useExhaustiveDependencies: round begins anew
  useEffect(() => {
    if (watch === null || !begun) return;
    setState({ state: "following", why: "" });
    return followTrace(watch, () => model.get().end + 1, {
      onGrowth: () => void model.grow(),
      onEnd: () => {
        setState({ state: "ended", why: "" });
        ended();
      },
      onLost: (why) => {
        setState(why === null ? { state: "following", why: "" } : { state: "lost", why });
        if (why === null) void model.renew();
      },
    });
  }, [model, watch, begun, round]);
  const again = useCallback(async () => {
    await model.renew();
    setBegun(model.get().count !== null);
    setRound((n) => n + 1);
  }, [model]);
  useEffect(() => {
    if (state.state !== "ended" || watch === null || renew === 0 || renew === seen) return;
    setSeen(renew);
    void again();
  }, [state.state, watch, renew, seen, again]);
  return { ...state, again: watch?.includes("session=") ? () => void again() : null };
}
