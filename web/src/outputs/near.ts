import { type RefObject, useEffect, useState } from "react";

/** How far from the screen something counts as near, in CSS pixels. */
const margin = "300px";

/** How long it has to be near before it does, so that what only flies by is left alone. */
const arrives = 120;

/** How long it stays near after it has gone. */
const leaves = 60_000;

/** Tells whether an element is on the screen, close to it, or was a minute ago. */
export function useNear(element: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    let timer: number | undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        const seen = entries.at(-1)?.isIntersecting ?? false;
        window.clearTimeout(timer);
        timer = window.setTimeout(() => setNear(seen), seen ? arrives : leaves);
      },
      { rootMargin: margin },
    );
    observer.observe(element.current);
    return () => {
      window.clearTimeout(timer);
      observer.disconnect();
    };
  }, [element]);
  return near;
}
