import type { Message } from "../protocol/messages";
import { reportMissedVerdict } from "./lossNotices";
import { loadSessionDetail } from "./sessionApi";
import type { SessionServices } from "./sessionServices";

/**
 * Reports how an attempt ended if that happened while the page was disconnected and a new session
 * has replaced it. Needed because the server sends each verdict once, to connected consoles.
 */
export class MissedVerdictReporter {
  private wasReceived = false;

  /** trace is the trace of the session that the page was connected to last; "": none. */
  constructor(
    private readonly services: SessionServices,
    private readonly session: string,
    private trace: string,
  ) {}

  /**
   * Handles a message of either connection. isReconnecting means that the page was disconnected
   * before.
   */
  receive(message: Message, isReconnecting: boolean): void {
    if (message.type === "eval_result") this.wasReceived = true;
    const trace = message.type === "ready" ? (message.trace ?? "") : "";
    if (trace === "" || trace === this.trace) return;
    const isMissed = this.trace !== "" && isReconnecting && !this.wasReceived;
    this.trace = trace;
    this.wasReceived = false;
    if (isMissed) void this.load();
  }

  private async load(): Promise<void> {
    try {
      const { previous } = await loadSessionDetail(this.session, AbortSignal.timeout(10_000));
      if (previous !== undefined) reportMissedVerdict(this.services, previous);
    } catch {
      const text = "While this page was disconnected, another session has started. Its result could not be loaded.";
      this.services.notices.add("info", text);
    }
  }
}
