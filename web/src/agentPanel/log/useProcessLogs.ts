import { useEffect, useState } from "react";
import { getToken, withQuery } from "../../api/client";
import { openReconnectingSocket, socketURL } from "../../api/sockets";
import { appendLogs, emptyLogs, type ProcessLogs, parseLogMessage } from "./processLogs";

/**
 * Returns the logs of a session's processes while the component is mounted, and whether they are
 * connected.
 */
export function useProcessLogs(session: string): { logs: ProcessLogs; connected: boolean } {
  const [logs, setLogs] = useState(emptyLogs);
  const [connected, setConnected] = useState(false);
  useEffect(
    () =>
      followProcessLogs(session, {
        onStoredLines: setLogs,
        onNewLines: (newLogs) => setLogs((before) => appendLogs(before, newLogs)),
        onConnected: setConnected,
      }),
    [session],
  );
  return { logs, connected };
}

/** Callbacks of followProcessLogs. */
export interface LogEvents {
  /** Receives all stored lines after each connect, if there are any. */
  onStoredLines: (logs: ProcessLogs) => void;
  /** Receives new lines. */
  onNewLines: (newLogs: ProcessLogs) => void;
  /** Receives false when the connection is lost and being retried. */
  onConnected: (connected: boolean) => void;
}

/**
 * Follows the process logs of a session over a WebSocket, which it reopens when it ends. Returns a
 * function that stops following.
 */
export function followProcessLogs(session: string, events: LogEvents): () => void {
  let isFirstMessage = true;
  return openReconnectingSocket({
    url: () => socketURL(withQuery("/printed", { session, token: getToken() })),
    onOpen() {
      isFirstMessage = true;
      events.onConnected(true);
    },
    onMessage(data) {
      if (isFirstMessage) events.onStoredLines(parseLogMessage(data));
      else events.onNewLines(parseLogMessage(data));
      isFirstMessage = false;
    },
    onClose() {
      events.onConnected(false);
      return false;
    },
  });
}
