import { type RefObject, useLayoutEffect, useState } from "react";

/** Returns the width of an element in CSS pixels without its scroll bar; 0 if it is not displayed. */
export function useWidth(elementRef: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = elementRef.current;
    if (element === null) return;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(element);
    return () => resized.disconnect();
  }, [elementRef]);
  return width;
}
