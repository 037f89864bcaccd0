import { type RefObject, useLayoutEffect, useState } from "react";

/** How wide an element is, in CSS pixels, without its scroll bar; 0: it is not to be seen. */
export function useWidth(place: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, [place]);
  return width;
}
