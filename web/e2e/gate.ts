import { createServer, connect as dial, type Server as Net, type Socket } from "node:net";
import type { Server } from "./assay";

/** What stands between the page and a server, and may fail as a network does. */
export class Gate {
  url = "";
  private readonly net: Net;
  private readonly ways = new Set<readonly [Socket, Socket]>();
  private shut = false;

  private constructor(port: number) {
    this.net = createServer((near) => this.pass(near, port));
  }

  /** Opens a way to the server at another port. */
  static async to(server: Server): Promise<Gate> {
    const gate = new Gate(Number(new URL(server.url).port));
    await new Promise<void>((open) => gate.net.listen(0, "localhost", open));
    const address = gate.net.address();
    if (address === null || typeof address === "string") throw new Error("the gate has no port");
    gate.url = `http://localhost:${address.port}`;
    return gate;
  }

  /** What is sent from now on goes nowhere, either way, and nobody is told. Connections that are made later work. */
  swallow(): void {
    for (const sockets of this.ways) for (const socket of sockets) socket.pause().unpipe();
  }

  /** No connection works, those that there are and new ones, until open. */
  close(): void {
    this.shut = true;
    for (const sockets of this.ways) for (const socket of sockets) socket.destroy();
  }

  open(): void {
    this.shut = false;
  }

  async end(): Promise<void> {
    this.close();
    await new Promise((closed) => this.net.close(closed));
  }

  private pass(near: Socket, port: number): void {
    if (this.shut) {
      near.destroy();
      return;
    }
    const far = dial(port, "localhost");
    const way = [near, far] as const;
    this.ways.add(way);
    const over = () => {
      this.ways.delete(way);
      for (const socket of way) socket.destroy();
    };
    for (const socket of way) socket.on("error", over).on("close", over);
    near.pipe(far).pipe(near);
  }
}
