import { type RefObject, useEffect, useState } from "react";

/** Returns whether an element is on screen in a visible page. */
export function useVisible(elementRef: RefObject<HTMLElement | null>): boolean {
  const [inView, setInView] = useState(false);
  const [shown, setShown] = useState(!document.hidden);
  useEffect(() => {
    const element = elementRef.current;
    if (element === null) return;
    const observer = new IntersectionObserver((entries) => setInView(entries.at(-1)?.isIntersecting ?? false));
    observer.observe(element);
    return () => observer.disconnect();
  }, [elementRef]);
  useEffect(() => {
    const look = () => setShown(!document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return inView && shown;
}
