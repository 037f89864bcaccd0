import { vi } from "vitest";
import type { OutgoingMessage as Message } from "../protocol/messages";

/** A WebSocket whose server is the test. */
export class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  sent: Message[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Message);
  }

  close(): void {
    this.readyState = 3;
  }

  /** Accepts the connection. */
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  receive(...messages: unknown[]): void {
    // Sends messages to the page.
    for (const message of messages) this.onmessage?.({ data: JSON.stringify(message) });
  }

  drop(code: number, reason = ""): void {
    // Closes the connection from the server's side.
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  /** Returns the messages of a type that the page has sent. */
  sentOf(type: string): Message[] {
    return this.sent.filter((message) => message.type === type);
  }
}

/** Returns the newest socket at a path. */
export function socketAt(path: "/run" | "/agent"): FakeSocket {
  const socket = FakeSocket.all.findLast(({ url }) => new URL(url).pathname === path);
  if (socket === undefined) throw new Error(`no socket at ${path}`);
  return socket;
}

export function socketsAt(path: "/run" | "/agent"): FakeSocket[] {
  return FakeSocket.all.filter(({ url }) => new URL(url).pathname === path);
}

/** Answers of the API by path. A function gets the URL. Other paths are not found. */
export type Answers = Record<string, unknown>;

/** Replaces fetch and WebSocket by a fake server. Returns the requests to the API. */
export function fakeServer(answers: Answers = {}): URL[] {
  FakeSocket.all = [];
  const requests: URL[] = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", async (path: string) => {
    const url = new URL(path, "http://localhost");
    requests.push(url);
    const answer = answers[url.pathname];
    if (answer instanceof Response) return answer.clone();
    if (answer === undefined) return Response.json({ code: "not_found", text: "not found" }, { status: 404 });
    return Response.json(typeof answer === "function" ? answer(url) : answer);
  });
  return requests;
}
