/**
 * Returns the ws: URL of a path on the page's server; with the development server on the one that
 * ASSAY_URL names.
 */
export function socketURL(path: string): string {
  return new URL(path, process.env.ASSAY_URL || window.location.href).href.replace(/^http/, "ws");
}

/** Events of a socket that reconnects. */
export interface ReconnectingSocketEvents {
  /** Returns the URL of the next connection, which may continue where the last one ended. */
  url: () => string;
  onOpen: () => void;
  onMessage: (data: unknown) => void;
  /**
   * Called when a connection has ended. Returns true if there is nothing more to come; otherwise
   * the socket reconnects.
   */
  onClose: (code: number, reason: string) => boolean;
}

const firstRetryDelayMs = 250;
const maxRetryDelayMs = 10_000;
/** The time, in milliseconds, after which a connection that has not opened is closed and retried. */
const openTimeoutMs = 10_000;

/**
 * Opens a WebSocket and reopens it when it ends, with growing delays while nothing is received.
 * Returns a function that closes it for good.
 */
export function openReconnectingSocket({ url, onOpen, onMessage, onClose }: ReconnectingSocketEvents): () => void {
  let delay = firstRetryDelayMs;
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    const opening = new WebSocket(url());
    socket = opening;
    timer = setTimeout(() => opening.close(), openTimeoutMs);
    socket.onopen = () => {
      clearTimeout(timer);
      onOpen();
    };
    socket.onmessage = ({ data }) => {
      delay = firstRetryDelayMs;
      onMessage(data);
    };
    socket.onclose = ({ code, reason }) => {
      clearTimeout(timer);
      if (onClose(code, reason)) return;
      timer = setTimeout(connect, delay);
      delay = Math.min(delay * 2, maxRetryDelayMs);
    };
  };
  connect();
  return () => {
    clearTimeout(timer);
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  };
}
