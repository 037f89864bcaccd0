/** What is to be done with what a followed socket does. */
export interface Followed {
  /** Called for each connection: it may go on where the last one broke off. */
  url: () => string;
  onOpen: () => void;
  onMessage: (data: unknown) => void;
  /** The connection has ended, and is made again unless this says true: there is no more to come. */
  onClose: (code: number, reason: string) => boolean;
}

const firstRetryMs = 250;
const lastRetryMs = 10_000;
/** A connection that is not there by then is tried again. */
const patienceMs = 10_000;

/** Listens to a socket, over broken connections, each later than the one before while nothing comes, until what is returned is called. */
export function followSocket({ url, onOpen, onMessage, onClose }: Followed): () => void {
  let wait = firstRetryMs;
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const connect = () => {
    const connecting = new WebSocket(url());
    socket = connecting;
    timer = setTimeout(() => connecting.close(), patienceMs);
    socket.onopen = () => {
      clearTimeout(timer);
      onOpen();
    };
    socket.onmessage = ({ data }) => {
      wait = firstRetryMs;
      onMessage(data);
    };
    socket.onclose = ({ code, reason }) => {
      clearTimeout(timer);
      if (onClose(code, reason)) return;
      timer = setTimeout(connect, wait);
      wait = Math.min(wait * 2, lastRetryMs);
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
