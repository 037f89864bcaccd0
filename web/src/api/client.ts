// Questions to the server's API; docs/api.md says what it answers.

/** A problem the server has told of, or that it could not be reached (status 0). */
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

let token: string | null = null;

/** The token that all requests carry; null: none is needed. It is kept in memory only. */
export function setToken(value: string | null): void {
  token = value;
}

export function getToken(): string | null {
  return token;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** The path with its parameters; those that are null, undefined or "" are left out. */
export function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}

/** GETs JSON. Rejects with ApiError, or with AbortError when signal says so. */
export async function getJSON<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await (await request(withQuery(path, query), signal ? { signal } : {})).json()) as T;
}

/** The answer of a GET or HEAD itself, for its headers or its bytes. range: only these bytes, from and to, as far as there are. */
export function getFile(
  path: string,
  {
    method = "GET",
    range,
    signal,
  }: { method?: "GET" | "HEAD"; range?: readonly [number, number]; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers: Record<string, string> = range ? { Range: `bytes=${range[0]}-${range[1]}` } : {};
  return request(path, { method, headers, ...(signal ? { signal } : {}) });
}

/** POSTs JSON and resolves to the JSON of the answer. */
export async function postJSON<T>(path: string, body: unknown): Promise<T> {
  const answer = await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set("Authorization", `Bearer ${token}`);
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "the server cannot be reached");
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

async function problemOf(answer: Response): Promise<ApiError> {
  try {
    const { code, text } = (await answer.json()) as { code?: string; text?: string };
    return new ApiError(answer.status, code ?? "", text ?? answer.statusText);
  } catch {
    return new ApiError(answer.status, "", answer.statusText);
  }
}

/** What a page must know first. */
export interface Config {
  eval_sandbox: boolean;
  default_session: string;
  version: string;
  /** Sessions can be worked in; false: there is only something to look at. */
  console: boolean;
  console_role: "view" | "holder";
  /** Cases may be attached. */
  cases: boolean;
}

export function getConfig(signal?: AbortSignal): Promise<Config> {
  return getJSON<Config>("/api/config", {}, signal);
}

/** The path of a session in the API. */
export function sessionBase(id: string): string {
  return `/api/sessions/${encodeURIComponent(id)}`;
}

/** The path of a run in the API. */
export function runBase(run: string): string {
  return `/api/runs/${encodeURIComponent(run)}`;
}

/** The path of an attempt in the API. */
export function attemptBase(run: string, attempt: string): string {
  return `${runBase(run)}/attempts/${encodeURIComponent(attempt)}`;
}

/** Where the trace of a session, or of an attempt, is to be had. */
export interface TraceSource {
  /** Path of the session or attempt in the API; below it are /trace, /flow and /at. */
  base: string;
  /** Path of its /watch with the parameters that name it; null: it has ended. */
  watch: string | null;
}

export function sessionSource(id: string): TraceSource {
  return { base: sessionBase(id), watch: withQuery("/watch", { session: id }) };
}

/** running: it still goes on, and can be watched. */
export function attemptSource(run: string, attempt: string, running: boolean): TraceSource {
  return {
    base: attemptBase(run, attempt),
    watch: running ? withQuery("/watch", { run, attempt }) : null,
  };
}
