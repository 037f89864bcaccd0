import { getToken, setToken } from "../api/client";
import { refusesToken } from "./backoff";
import type { Phase } from "./live";
import { awaitSession, followPhase, type PhaseEvents } from "./phase";

export interface AdmissionConfig {
  session: string;
  /** Nobody is asked for a token, and the session need not be waited for. */
  sandbox: boolean;
  changed(): void;
  /** The session could not start. */
  problem(text: string): void;
}

/** Whether this page may come in to a session: where that is, and whether a token is wanted first. */
export class Admission {
  phase: Phase | null = null;
  needToken = false;
  tokenRefused: string | null = null;
  private following = new AbortController();

  constructor(private readonly config: AdmissionConfig) {}

  /** Resolves to true when the session can be connected to; to false when a token is wanted, or stop was called. */
  async enter(): Promise<boolean> {
    const { signal } = this.anew();
    const { session, sandbox } = this.config;
    const may = sandbox || (await awaitSession(session, this.events(signal), signal));
    return may && !signal.aborted;
  }

  /** Tells where the session is until there is a connection to it. */
  follow(): void {
    if (this.config.sandbox) return;
    const { signal } = this.anew();
    void followPhase(this.config.session, this.events(signal), signal);
  }

  /** There is a connection. */
  entered(): void {
    this.stop();
    this.phase = "running";
  }

  /** A connection has ended; one that has refused the token wants another. */
  sentAway(code: number | null, reason: string): void {
    if (this.config.sandbox || code === null || !refusesToken(code, reason)) return;
    this.stop();
    this.refused();
  }

  submit(token: string): void {
    setToken(token);
    this.needToken = false;
    this.tokenRefused = null;
  }

  stop(): void {
    this.following.abort();
  }

  /** Ends what is followed, to follow something else. */
  private anew(): AbortController {
    this.stop();
    this.following = new AbortController();
    return this.following;
  }

  private refused(): void {
    this.needToken = true;
    this.tokenRefused = getToken() === null ? null : "The server has refused that token.";
    this.config.changed();
  }

  private events(signal: AbortSignal): PhaseEvents {
    return {
      phase: (phase) => {
        if (this.phase === phase) return;
        this.phase = phase;
        this.config.changed();
      },
      refused: () => {
        if (!signal.aborted) this.refused();
      },
      problem: (text) => this.config.problem(text),
    };
  }
}
