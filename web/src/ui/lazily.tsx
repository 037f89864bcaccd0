import { type ComponentType, createElement, lazy, type ReactNode } from "react";

/** Of the parts that could not be loaded: has each loaded when it is next drawn. */
const failed = new Set<() => void>();

/** The styles that did not come at first: what is loaded anew waits for them. */
let styles: Promise<unknown> = Promise.resolve();

/**
 * A component that is loaded when it is first drawn, as React's lazy; but what could
 * not be loaded can be tried again, after forgetFailures.
 */
export function lazily<P extends object>(load: () => Promise<(props: P) => ReactNode>): (props: P) => ReactNode {
  const loaded = async () => {
    try {
      const [part] = await Promise.all([load(), styles]);
      return { default: part as ComponentType<object> };
    } catch (error) {
      failed.add(forget);
      throw error;
    }
  };
  let part = lazy(loaded);
  const forget = () => {
    part = lazy(loaded);
  };
  return (props) => createElement(part, props);
}

/** Whether something could not be loaded and has not been tried again since. */
export function hasFailed(): boolean {
  return failed.size > 0;
}

/** To be called before what could not be loaded is drawn again. */
export function forgetFailures(): void {
  for (const forget of failed) forget();
  failed.clear();
  // The loader of the parts asks for their styles only once.
  const lost = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].filter(
    (link) => !hasCome(link),
  );
  const coming = Promise.all(lost.map(linkedAgain));
  styles = coming;
  const settled = () => {
    if (styles === coming) styles = Promise.resolve(); // what waits for them is told, others are not
  };
  coming.then(settled, settled);
}

/** Whether there are rules: of styles that did not come there is no sheet, or one that cannot be looked into. */
function hasCome({ sheet }: HTMLLinkElement): boolean {
  try {
    return sheet !== null && sheet.cssRules !== null;
  } catch {
    return false;
  }
}

function linkedAgain(link: HTMLLinkElement): Promise<void> {
  const again = link.cloneNode() as HTMLLinkElement;
  const done = new Promise<void>((resolve, reject) => {
    again.onload = () => resolve();
    again.onerror = () => reject(new Error(`The styles could not be loaded: ${link.href}`));
  });
  link.replaceWith(again);
  return done;
}
