import { readTabStorage, writeTabStorage } from "../browser/tabStorage";
import { setToken } from "./client";

const storageKey = "assay.token";

/**
 * Uses the token in the page's address, as in /runs/one#token=…, for all requests, and takes it out
 * of the address, so that it is in no history and in no copied link. It is kept for this tab, so that
 * the page can be loaded again. If the address has none, the one that was kept is used. Call once.
 */
export function takeTokenFromAddress(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null && token !== "") {
    writeTabStorage(storageKey, token);
    history.replaceState(history.state, "", location.pathname + location.search);
  }
  setToken(token || readTabStorage(storageKey));
}
