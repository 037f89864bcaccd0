import { useCallback } from "react";
import { navigate, usePathname, useSearch } from "wouter/use-browser-location";

/**
 * Returns the value of a query parameter of the page's address ("" if it is missing), and a
 * function that sets it; "" removes it. Setting it replaces the current entry of the browser's
 * history.
 */
export function useParameter(name: string): readonly [string, (value: string) => void] {
  const search = useSearch();
  const path = usePathname();
  const set = useCallback(
    (value: string) => {
      const parameters = new URLSearchParams(window.location.search);
      if (value === "") parameters.delete(name);
      else parameters.set(name, value);
      navigate(parameters.size > 0 ? `${path}?${parameters}` : path, { replace: true });
    },
    [name, path],
  );
  return [new URLSearchParams(search).get(name) ?? "", set];
}
