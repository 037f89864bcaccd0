import { useEffect, useEffectEvent, useRef } from "react";

/** Calls f once when running has become false: what was loaded of an attempt that ran is old then. */
export function useOnEnd(running: boolean, f: () => void): void {
  const before = useRef(running);
  const end = useEffectEvent(f);
  useEffect(() => {
    if (before.current && !running) end();
    before.current = running;
  }, [running]);
}
