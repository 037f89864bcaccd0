import type { Message, MessageOf } from "../protocol/messages";

/**
 * The kernel's process and language, and whether this console owns the session, according to the
 * latest messages.
 */
export class KernelStatus {
  /** This console may run and stop cells, set widgets, restart, and talk to the agent. */
  isOwner = false;
  /** "": unknown. */
  language = "";
  /** 0: there is no kernel, or it is unknown. */
  pid = 0;

  /** Handles a message of /run. Returns true if the message is about these fields. */
  receive(message: Message): boolean {
    if (message.type === "ready") this.handleReady(message);
    else if (message.type === "managed_process_exit" && message.name === "kernel") this.pid = 0;
    else return false;
    return true;
  }

  private handleReady(ready: MessageOf<"ready">): void {
    this.isOwner = ready.session_owner;
    this.language = ready.language || this.language;
    this.pid = ready.kernel_status === "running" ? ready.kernel_pid : 0;
  }
}
