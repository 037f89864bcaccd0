import { useCallback, useEffect, useEffectEvent, useState } from "react";
import type { FlowModel } from "./flowModel";
import { followTrace } from "./followTrace";

/** The state of the connection that follows a trace. */
export interface LiveTraceState {
  /** ended: nothing more is added. */
  state: "following" | "lost" | "ended";
  /** Why the connection was lost. */
  why: string;
  /** Checks for a new trace in place of one that has ended; null: there can be none. */
  checkAgain: (() => void) | null;
}

/** Options for following a trace that is still being written. */
export interface LiveTraceOptions {
  onEnd?: (() => void) | undefined;
  /** A new number means that a new trace may have replaced one that has ended; 0: no. */
  renew?: number | undefined;
}

/**
 * Loads new entries of a trace into the model as they are written, once the model knows the trace's
 * current end. watch null: the trace has ended and is not followed.
 */
export function useLiveTrace(
  model: FlowModel,
  known: boolean,
  watch: string | null,
  { onEnd, renew = 0 }: LiveTraceOptions,
): LiveTraceState {
  const [begun, setBegun] = useState(known);
  if (known && !begun) setBegun(true);
  const [state, setState] = useState<Omit<LiveTraceState, "checkAgain">>({
    state: watch === null ? "ended" : "following",
    why: "",
  });
  const [round, setRound] = useState(0);
  const [seen, setSeen] = useState(renew);
  const ended = useEffectEvent(() => onEnd?.());
  // biome-ignore lint/correctness/useExhaustiveDependencies: round reconnects
  useEffect(() => {
    if (watch === null || !begun) return;
    setState({ state: "following", why: "" });
    return followTrace(watch, () => model.get().end + 1, {
      onGrowth: () => void model.loadAdded(),
      onEnd: () => {
        setState({ state: "ended", why: "" });
        ended();
      },
      onLost: (why) => {
        setState(why === null ? { state: "following", why: "" } : { state: "lost", why });
        if (why === null) void model.checkForNewTrace();
      },
    });
  }, [model, watch, begun, round]);
  const again = useCallback(async () => {
    await model.checkForNewTrace();
    setBegun(model.get().count !== null);
    setRound((n) => n + 1);
  }, [model]);
  useEffect(() => {
    if (state.state !== "ended" || watch === null || renew === 0 || renew === seen) return;
    setSeen(renew);
    void again();
  }, [state.state, watch, renew, seen, again]);
  return { ...state, checkAgain: watch?.includes("session=") ? () => void again() : null };
}
