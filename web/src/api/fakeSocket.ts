import { vi } from "vitest";

/** A WebSocket whose server is the test. */
export class FakeSocket {
  static sockets: FakeSocket[] = [];

  static install(): void {
    FakeSocket.sockets = [];
    vi.stubGlobal("WebSocket", FakeSocket);
  }

  static newest(): FakeSocket {
    const newest = FakeSocket.sockets.at(-1);
    if (newest === undefined) throw new Error("no socket was opened");
    return newest;
  }

  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    FakeSocket.sockets.push(this);
  }

  open(): void {
    this.onopen?.();
  }

  send(message: unknown): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  end(code: number, reason = ""): void {
    this.closed = true;
    this.onclose?.({ code, reason });
  }

  close(): void {
    this.closed = true;
  }
}
