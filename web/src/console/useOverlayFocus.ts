import { type RefObject, useEffect, useRef } from "react";

/** Returns a ref for an overlay: moves the focus into it when it opens, and back when it closes. */
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
