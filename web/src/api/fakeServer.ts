import { vi } from "vitest";

/** A response: JSON, a Response, or a promise of either. */
type FakeResponse = unknown;

/** A fake of the server's API, which answers by path and records the requests. */
export interface FakeServer {
  /** URL of each request, in order. */
  requests: URL[];
  headers: Headers[];
  /** Functions that answer, by the beginnings of paths. Tests may change them. */
  routes: Record<string, (url: URL) => FakeResponse>;
}

/**
 * Replaces fetch: the longest matching beginning of the path answers, and 404 is the response to
 * all else.
 */
export function fakeServer(routes: Record<string, (url: URL) => FakeResponse>): FakeServer {
  const server: FakeServer = { requests: [], headers: [], routes };
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const url = new URL(path, "http://server");
    server.requests.push(url);
    server.headers.push(new Headers(init.headers));
    const route = Object.keys(routes)
      .filter((beginning) => url.pathname.startsWith(beginning))
      .sort((a, b) => b.length - a.length)[0];
    const response: FakeResponse =
      route === undefined ? problemResponse(404, "not_found", "not found") : await routes[route]?.(url);
    init.signal?.throwIfAborted();
    return response instanceof Response ? response : Response.json(response);
  });
  return server;
}

/** Returns an error response of the API. */
export function problemResponse(status: number, code: string, text: string): Response {
  return Response.json({ code, text }, { status });
}
