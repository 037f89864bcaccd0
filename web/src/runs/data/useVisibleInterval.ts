import { useEffect, useEffectEvent } from "react";

/**
 * Calls f every ms milliseconds while the page is visible, and whenever the page becomes visible.
 * ms null: f is never called.
 */
export function useVisibleInterval(f: () => void, ms: number | null): void {
  const tick = useEffectEvent(() => {
    if (document.visibilityState === "visible") f();
  });
  useEffect(() => {
    if (ms === null) return;
    const onTick = () => tick();
    const timer = setInterval(onTick, ms);
    document.addEventListener("visibilitychange", onTick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onTick);
    };
  }, [ms]);
}
