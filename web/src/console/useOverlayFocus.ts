import { type RefObject, useEffect, useRef } from "react";

/** Moves the focus into an overlay while it is open, and back when it is closed. */
export function useOverlayFocus(open: boolean): RefObject<HTMLElement | null> {
  const sheet = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!open) return;
    const before = document.activeElement;
    sheet.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [open]);
  return sheet;
}
