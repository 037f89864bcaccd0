import { connect as connectTo, createServer, type Server as NetServer, type Socket } from "node:net";
import type { AssayServer } from "./assay";

/** A TCP proxy between the page and a server that can drop all data or refuse connections, to simulate network failures. */
export class NetworkProxy {
  url = "";
  private readonly listener: NetServer;
  private readonly socketPairs = new Set<readonly [Socket, Socket]>();
  private isRefusing = false;

  private constructor(port: number) {
    this.listener = createServer((near) => this.forward(near, port));
  }

  /** Starts a proxy for a server, on a free port. */
  static async startFor(server: AssayServer): Promise<NetworkProxy> {
    const proxy = new NetworkProxy(Number(new URL(server.url).port));
    await new Promise<void>((resolve) => proxy.listener.listen(0, "localhost", resolve));
    const address = proxy.listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    proxy.url = `http://localhost:${address.port}`;
    return proxy;
  }

  /** Drops all data on the current connections, in both directions, without closing them. New connections work. */
  dropTraffic(): void {
    for (const sockets of this.socketPairs) for (const socket of sockets) socket.pause().unpipe();
  }

  /** Closes all connections, and closes new ones at once until acceptAgain is called. */
  disconnect(): void {
    this.isRefusing = true;
    for (const sockets of this.socketPairs) for (const socket of sockets) socket.destroy();
  }

  /** Accepts new connections again after disconnect. */
  acceptAgain(): void {
    this.isRefusing = false;
  }

  /** Closes all connections and stops listening. */
  async stop(): Promise<void> {
    this.disconnect();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private forward(near: Socket, port: number): void {
    if (this.isRefusing) {
      near.destroy();
      return;
    }
    const far = connectTo(port, "localhost");
    const pair = [near, far] as const;
    this.socketPairs.add(pair);
    const closeBoth = () => {
      this.socketPairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on("error", closeBoth).on("close", closeBoth);
    near.pipe(far).pipe(near);
  }
}
