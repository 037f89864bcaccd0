import { ApiError, getToken, setToken } from "../api/client";
import { isCloseForToken } from "./consoleConnection";
import { loadSessionDetail } from "./sessionApi";
import type { SessionPhase } from "./sessionSnapshot";

export interface SessionAuthConfig {
  session: string;
  /** Sandbox mode: no token is needed, and the session need not be waited for. */
  sandbox: boolean;
  /** phase, needsToken or tokenRefusal has changed. */
  onChange(): void;
  /** The session could not start. text says why. */
  onProblem(text: string): void;
}

/**
 * Waits until the page may connect to a session: until the session has started and the user has
 * entered the server's token, if it needs one.
 */
export class SessionAuth {
  phase: SessionPhase | null = null;
  needsToken = false;
  tokenRefusal: string | null = null;
  private following = new AbortController();

  constructor(private readonly config: SessionAuthConfig) {}

  /**
   * Resolves to true when the page can connect; to false when a token is needed first, or stop was
   * called.
   */
  async waitUntilReady(): Promise<boolean> {
    const { signal } = this.restart();
    const { session, sandbox } = this.config;
    const isReady = sandbox || (await awaitSession(session, this.events(signal), signal));
    return isReady && !signal.aborted;
  }

  /** Reports the session's phase until there is a connection. */
  startFollowingPhase(): void {
    if (this.config.sandbox) return;
    const { signal } = this.restart();
    void followPhase(this.config.session, this.events(signal), signal);
  }

  /** Must be called when there is a connection. */
  connected(): void {
    this.stop();
    this.phase = "running";
  }

  /**
   * Must be called when a connection has ended. Asks for a token if the server has refused the one
   * that was sent.
   */
  disconnected(code: number | null, reason: string): void {
    if (this.config.sandbox || code === null || !isCloseForToken(code, reason)) return;
    this.stop();
    this.askForToken();
  }

  acceptToken(token: string): void {
    setToken(token);
    this.needsToken = false;
    this.tokenRefusal = null;
  }

  stop(): void {
    this.following.abort();
  }

  /** Stops what is being followed and returns the controller for what is followed next. */
  private restart(): AbortController {
    this.stop();
    this.following = new AbortController();
    return this.following;
  }

  private askForToken(): void {
    this.needsToken = true;
    this.tokenRefusal = getToken() === null ? null : "The server has refused this token.";
    this.config.onChange();
  }

  private events(signal: AbortSignal): PhaseEvents {
    return {
      phase: (phase) => {
        if (this.phase === phase) return;
        this.phase = phase;
        this.config.onChange();
      },
      tokenNeeded: () => {
        if (!signal.aborted) this.askForToken();
      },
      problem: (text) => this.config.onProblem(text),
    };
  }
}

/** Interval in milliseconds at which the phase of a session is requested. */
const pollIntervalMs = 1000;

const sessionPhases: readonly string[] = [
  "creating",
  "starting",
  "running",
  "stopping",
  "stopped",
] satisfies SessionPhase[];

/** Callbacks for what is learnt about a session. */
export interface PhaseEvents {
  /** Called with each phase of the session; null: unknown. */
  phase(phase: SessionPhase | null): void;
  /** The server wants a token, or another one. */
  tokenNeeded(): void;
  /** The session could not start. text says why. */
  problem(text: string): void;
}

/**
 * Waits until a console can connect to a session. Polls a session that is starting or stopping; in
 * other phases connecting starts it. Resolves to false if a token is needed first or signal is
 * aborted.
 */
export async function awaitSession(id: string, events: PhaseEvents, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const phase = await readPhase(id, events, signal);
    if (phase === "refused") return false;
    if (phase !== "starting" && phase !== "stopping") return true;
    await sleepUnlessAborted(pollIntervalMs, signal);
  }
  return false;
}

/** Reports the phase of a session every second until signal is aborted. */
export async function followPhase(id: string, events: PhaseEvents, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if ((await readPhase(id, events, signal)) === "refused") return;
    await sleepUnlessAborted(pollIntervalMs, signal);
  }
}

async function readPhase(
  id: string,
  events: PhaseEvents,
  signal: AbortSignal,
): Promise<SessionPhase | "refused" | null> {
  try {
    const { state = "", problem = "" } = await loadSessionDetail(id, signal);
    const phase = sessionPhases.includes(state) ? (state as SessionPhase) : null;
    if (!signal.aborted) events.phase(phase);
    if (problem !== "" && !signal.aborted) events.problem(problem);
    return phase;
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError) || error.status !== 401) return null;
    events.tokenNeeded();
    return "refused";
  }
}

function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
