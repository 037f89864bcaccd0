import { type ComponentType, createElement, lazy, type ReactNode } from "react";

/**
 * For each part that could not be loaded: a function that makes it load again when it is rendered
 * next.
 */
const failedParts = new Set<() => void>();

/** Styles that failed and are loading again: parts wait for them. */
let pendingStyles: Promise<unknown> = Promise.resolve();

/**
 * A component that is loaded when it is first rendered, like React's lazy. Unlike with lazy, a part
 * that failed to load can be loaded again after forgetFailures.
 */
export function lazyPart<P extends object>(load: () => Promise<(props: P) => ReactNode>): (props: P) => ReactNode {
  const loadPart = async () => {
    try {
      const [part] = await Promise.all([load(), pendingStyles]);
      return { default: part as ComponentType<object> };
    } catch (error) {
      failedParts.add(forgetFailure);
      throw error;
    }
  };
  let part = lazy(loadPart);
  const forgetFailure = () => {
    part = lazy(loadPart);
  };
  return (props) => createElement(part, props);
}

/** Reports whether a part could not be loaded and was not retried since. */
export function hasLoadFailures(): boolean {
  return failedParts.size > 0;
}

/** Must be called before a part that could not be loaded is rendered again. */
export function forgetLoadFailures(): void {
  for (const forget of failedParts) forget();
  failedParts.clear();
  // The module loader requests the styles of a part only once.
  const failedLinks = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].filter(
    (link) => !isLoaded(link),
  );
  const loading = Promise.all(failedLinks.map(reloadStyles));
  pendingStyles = loading;
  const onSettled = () => {
    if (pendingStyles === loading) pendingStyles = Promise.resolve(); // parts that were waiting are notified; later ones need not wait
  };
  loading.then(onSettled, onSettled);
}

/** Reports whether styles are loaded: failed ones have no sheet, or one whose rules cannot be read. */
function isLoaded({ sheet }: HTMLLinkElement): boolean {
  try {
    return sheet !== null && sheet.cssRules !== null;
  } catch {
    return false;
  }
}

function reloadStyles(link: HTMLLinkElement): Promise<void> {
  const copy = link.cloneNode() as HTMLLinkElement;
  const done = new Promise<void>((resolve, reject) => {
    copy.onload = () => resolve();
    copy.onerror = () => reject(new Error(`The styles could not be loaded: ${link.href}`));
  });
  link.replaceWith(copy);
  return done;
}
