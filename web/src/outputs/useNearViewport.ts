import { type RefObject, useEffect, useState } from "react";

/** An element counts as near the viewport up to this distance. */
const viewportMargin = "300px";

/** Milliseconds until an element that has come near counts as near, so that elements that are scrolled past do not. */
const nearViewportDelay = 120;

/** Milliseconds until an element that has gone away no longer counts as near. */
const awayFromViewportDelay = 60_000;

/** Reports whether an element is in the viewport, within 300 pixels of it, or was within the last minute. */
export function useNearViewport(element: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    let timer: number | undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.at(-1)?.isIntersecting ?? false;
        window.clearTimeout(timer);
        timer = window.setTimeout(() => setNear(seen), seen ? nearViewportDelay : awayFromViewportDelay);
      },
      { rootMargin: viewportMargin },
    );
    observer.observe(element.current);
    return () => {
      window.clearTimeout(timer);
      observer.disconnect();
    };
  }, [element]);
  return near;
}
