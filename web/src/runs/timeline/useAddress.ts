import { useEffect } from "react";
import { navigate } from "wouter/use-browser-location";
import type { Travel } from "./travel";

/** How long a travel rests before the address says where: browsers allow few changes a second. */
const restMs = 250;

/** The entry that the page's address names; null: none. */
export function addressedSeq(): number | null {
  const seq = Number(new URLSearchParams(window.location.search).get("seq") ?? "");
  return Number.isSafeInteger(seq) && seq > 0 ? seq : null;
}

/** Keeps the entry where a travel is in the page's address, as ?seq=; at the end there is none. */
export function useAddress(travel: Travel): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => write(travel), restMs);
    };
    later();
    const stop = travel.subscribe(later);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [travel]);
}

function write(travel: Travel): void {
  const { seq, end, busy, mode } = travel.get();
  if (busy || end === 0 || mode === "playing") return;
  const wanted = seq < end && mode !== "live" && seq > 0 ? seq : null;
  if (wanted === addressedSeq()) return;
  const parameters = new URLSearchParams(window.location.search);
  if (wanted === null) parameters.delete("seq");
  else parameters.set("seq", String(wanted));
  const { pathname } = window.location;
  navigate(parameters.size > 0 ? `${pathname}?${parameters}` : pathname, { replace: true });
}
