import { type ComponentType, createElement, lazy, type ReactNode } from "react";

/**
 * For each part that could not be loaded: a function that makes it load again when it is rendered
 * next.
 */
const failedParts = new Set<() => void>();

/** Styles that failed and are loading again: parts wait for them. */
let pendingStyles: Promise<unknown> = Promise.resolve();

/**
 * Returns a component that is loaded when it is first rendered, like React's lazy. Unlike with lazy, a
 * component that failed to load is loaded again after forgetLoadFailures.
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

/** Reports whether a lazy component could not be loaded and forgetLoadFailures has not been called since. */
export function hasLoadFailures(): boolean {
  return failedParts.size > 0;
}

/** Makes lazy components that could not be loaded load again, with their styles, when they are rendered next. */
export function forgetLoadFailures(): void {
  for (const forget of failedParts) forget();
  failedParts.clear();
  // The module loader requests the styles of a part only once.
  const failedLinks = [...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].filter(
    (link) => !isStyleSheetLoaded(link),
  );
  const loading = Promise.all(failedLinks.map(reloadStyles));
  pendingStyles = loading;
  const onSettled = () => {
    if (pendingStyles === loading) pendingStyles = Promise.resolve(); // parts that were waiting are notified; later ones need not wait
  };
  loading.then(onSettled, onSettled);
}

/** Reports whether the styles of a link are loaded. Failed ones have no sheet, or one whose rules cannot be read. */
function isStyleSheetLoaded({ sheet }: HTMLLinkElement): boolean {
  try {
    return sheet !== null && sheet.cssRules !== null;
  } catch {
    return false;
  }
}

/** Replaces a link to styles by a copy, which loads them again. The promise rejects if that fails. */
function reloadStyles(link: HTMLLinkElement): Promise<void> {
  const copy = link.cloneNode() as HTMLLinkElement;
  const done = new Promise<void>((resolve, reject) => {
    copy.onload = () => resolve();
    copy.onerror = () => reject(new Error(`The styles could not be loaded: ${link.href}`));
  });
  link.replaceWith(copy);
  return done;
}
