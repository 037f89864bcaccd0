import { vi } from "vitest";
import type { OutgoingMessage as Message } from "../protocol/messages";

/** A WebSocket of which the test is the server. */
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

/** Returns the newest socket that the page opened at a path. Throws if there is none. */
export function socketAt(path: "/run" | "/agent"): FakeSocket {
  const socket = FakeSocket.all.findLast(({ url }) => new URL(url).pathname === path);
  if (socket === undefined) throw new Error(`no socket at ${path}`);
  return socket;
}

/** Returns all sockets that the page opened at a path. */
export function socketsAt(path: "/run" | "/agent"): FakeSocket[] {
  return FakeSocket.all.filter(({ url }) => new URL(url).pathname === path);
}

/**
 * Answers of the fake API by path. An answer that is a function is called with the URL. Other paths
 * are not found.
 */
export type ApiAnswers = Record<string, unknown>;

/** Replaces fetch and WebSocket by fakes. Returns a list that fills with the URLs of requests to the API. */
export function fakeServer(answers: ApiAnswers = {}): URL[] {
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
