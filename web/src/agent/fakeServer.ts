import { vi } from "vitest";
import type { Message } from "../protocol/messages";

/** A WebSocket whose other end is the test. */
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

  /** The server accepts the connection. */
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  says(...messages: unknown[]): void {
    for (const message of messages) this.onmessage?.({ data: JSON.stringify(message) });
  }

  drop(code: number, reason = ""): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  /** The messages of a type that were sent. */
  sentOf(type: string): Message[] {
    return this.sent.filter((message) => message.type === type);
  }
}

/** The newest socket at a path. */
export function socketAt(path: "/run" | "/agent"): FakeSocket {
  const socket = FakeSocket.all.findLast(({ url }) => new URL(url).pathname === path);
  if (socket === undefined) throw new Error(`nobody has connected to ${path}`);
  return socket;
}

export function socketsAt(path: "/run" | "/agent"): FakeSocket[] {
  return FakeSocket.all.filter(({ url }) => new URL(url).pathname === path);
}

/** What the API answers, by path; anything else is not found. */
export type Answers = Record<string, unknown>;

/** Puts the test in the place of the server; returns what was asked of the API. */
export function fakeServer(answers: Answers = {}): URL[] {
  FakeSocket.all = [];
  const asked: URL[] = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", async (path: string) => {
    const url = new URL(path, "http://localhost");
    asked.push(url);
    const answer = answers[url.pathname];
    if (answer instanceof Response) return answer.clone();
    if (answer === undefined) return Response.json({ code: "not_found", text: "not found" }, { status: 404 });
    return Response.json(typeof answer === "function" ? answer(url) : answer);
  });
  return asked;
}
