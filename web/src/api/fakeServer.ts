import { vi } from "vitest";

/** What is answered: JSON, an answer as it is, or a promise of either. */
type Answer = unknown;

/** A server that the tests are instead of. It answers by path, and keeps what it was asked. */
export interface FakeServer {
  /** Path and parameters of each request, in order. */
  asked: URL[];
  headers: Headers[];
  /** What is answered, by the beginnings of paths; may be changed. */
  routes: Record<string, (url: URL) => Answer>;
}

/** Answers fetch by the longest of these beginnings of paths; 404 to all else. */
export function fakeServer(routes: Record<string, (url: URL) => Answer>): FakeServer {
  const server: FakeServer = { asked: [], headers: [], routes };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const url = new URL(path, "http://server");
    server.asked.push(url);
    server.headers.push(new Headers(init.headers));
    const route = Object.keys(routes)
      .filter((beginning) => url.pathname.startsWith(beginning))
      .sort((a, b) => b.length - a.length)[0];
    const answer: Answer = route === undefined ? problem(404, "not_found", "not found") : await routes[route]?.(url);
    init.signal?.throwIfAborted();
    return answer instanceof Response ? answer : Response.json(answer);
  });
  return server;
}

/** A problem as the API tells it. */
export function problem(status: number, code: string, text: string): Response {
  return Response.json({ code, text }, { status });
}
