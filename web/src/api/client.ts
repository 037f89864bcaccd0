// Requests to the server's API, which docs/api.md describes.

import { read, type SchemaWithFallback } from "../json/schema";
import { problemSchema } from "../protocol/config.gen";

/** An error response of the server's API, or status 0 if the server cannot be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    text: string,
  ) {
    super(text);
    this.name = "ApiError";
  }
}

let currentToken: string | null = null;

/** Sets the token that all requests carry; null: none. */
export function setToken(value: string | null): void {
  currentToken = value;
}

export function getToken(): string | null {
  return currentToken;
}

export type QueryParameters = Record<string, string | number | boolean | null | undefined>;

/** Appends parameters to a path. Those that are null, undefined or "" are left out. */
export function withQuery(path: string, query: QueryParameters = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}

/**
 * Sends a GET request and resolves to its JSON, checked with the schema. Rejects with ApiError, or
 * with AbortError if signal is aborted.
 */
export async function getJSON<T>(
  path: string,
  schema: SchemaWithFallback<T>,
  query: QueryParameters = {},
  signal?: AbortSignal,
): Promise<T> {
  return read(schema, await (await sendApiRequest(withQuery(path, query), signal ? { signal } : {})).json());
}

/**
 * Sends a GET or HEAD request and resolves to the response, for its headers or its bytes. range is
 * the first and the last byte to get.
 */
export function getFileResponse(
  path: string,
  {
    method = "GET",
    range,
    signal,
  }: { method?: "GET" | "HEAD"; range?: readonly [number, number]; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers: Record<string, string> = range ? { Range: `bytes=${range[0]}-${range[1]}` } : {};
  return sendApiRequest(path, { method, headers, ...(signal ? { signal } : {}) });
}

/** Sends a POST request with a JSON body. */
export async function postJSON(path: string, body: unknown): Promise<void> {
  await sendApiRequest(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function sendApiRequest(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (currentToken !== null) headers.set("Authorization", `Bearer ${currentToken}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "the server cannot be reached");
  }
  if (!response.ok) throw await apiErrorOf(response);
  return response;
}

async function apiErrorOf(response: Response): Promise<ApiError> {
  try {
    const { code, text } = read(problemSchema, await response.json());
    return new ApiError(response.status, code, text || response.statusText);
  } catch {
    return new ApiError(response.status, "", response.statusText);
  }
}

/** Returns the path of a session in the API. */
export function sessionApiPath(id: string): string {
  return `/api/sessions/${encodeURIComponent(id)}`;
}

/** Returns the path of a run in the API. */
export function runApiPath(run: string): string {
  return `/api/runs/${encodeURIComponent(run)}`;
}

/** Returns the path of an attempt in the API. */
export function attemptApiPath(run: string, attempt: string): string {
  return `${runApiPath(run)}/attempts/${encodeURIComponent(attempt)}`;
}

/** Where to read the trace of a session or an attempt. */
export interface TraceSource {
  /** Path of the session or attempt in the API. /trace, /flow and /at are below it. */
  base: string;
  /** Path and parameters of the /watch WebSocket; null: the trace is complete. */
  watch: string | null;
}

export function traceSourceOfSession(id: string): TraceSource {
  return { base: sessionApiPath(id), watch: withQuery("/watch", { session: id }) };
}

/** running means that the attempt is still going on and can be watched. */
export function traceSourceOfAttempt(run: string, attempt: string, running: boolean): TraceSource {
  return {
    base: attemptApiPath(run, attempt),
    watch: running ? withQuery("/watch", { run, attempt }) : null,
  };
}
