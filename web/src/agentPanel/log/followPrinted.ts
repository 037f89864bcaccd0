import { getToken, withQuery } from "../../api/client";
import { openReconnectingSocket, socketURL } from "../../api/sockets";
import { linesOf, type Printed } from "./printed";

/** What is heard of it. */
export interface Heard {
  /** All that is kept, when it is connected to, if that is anything. */
  onKept: (kept: Printed) => void;
  onMore: (more: Printed) => void;
  /** false: it is not connected, and tries again. */
  onConnected: (is: boolean) => void;
}

/** Follows what agent and kernel of a session print, over broken connections and sessions, until what is returned is called. */
export function followPrinted(session: string, heard: Heard): () => void {
  let first = true;
  return openReconnectingSocket({
    url: () => socketURL(withQuery("/printed", { session, token: getToken() })),
    onOpen() {
      first = true;
      heard.onConnected(true);
    },
    onMessage(data) {
      if (first) heard.onKept(linesOf(data));
      else heard.onMore(linesOf(data));
      first = false;
    },
    onClose() {
      heard.onConnected(false);
      return false;
    },
  });
}
