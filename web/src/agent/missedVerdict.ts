import { textOf } from "../json/read";
import type { Message } from "../protocol/messages";
import type { Core } from "./core";
import { getSession } from "./history";
import { tellMissed } from "./losses";

/**
 * Tells how an attempt has ended when the page comes back and another session has
 * taken its place: the server tells each verdict once, to who is there.
 */
export class MissedVerdict {
  private told = false;

  /** trace names the session that the page came to last; "": it came to none. */
  constructor(
    private readonly core: Core,
    private readonly session: string,
    private trace: string,
  ) {}

  /** Takes in a message of either connection; away says that the page is only coming back. */
  heard(message: Message, away: boolean): void {
    if (message.type === "eval_result") this.told = true;
    const trace = message.type === "ready" ? textOf(message.trace) : "";
    if (trace === "" || trace === this.trace) return;
    const missed = this.trace !== "" && away && !this.told;
    this.trace = trace;
    this.told = false;
    if (missed) void this.ask();
  }

  private async ask(): Promise<void> {
    try {
      const { previous } = await getSession(this.session, AbortSignal.timeout(10_000));
      tellMissed(this.core, previous);
    } catch {
      const text = "While this page was away another session has begun. How the one before ended could not be asked.";
      this.core.notices.add("info", text);
    }
  }
}
