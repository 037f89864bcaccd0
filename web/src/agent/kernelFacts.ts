import { numberOrZero, textOf } from "../json/read";
import type { Message } from "../protocol/messages";

/** What the newest `ready`, and what has come behind it, say of the kernel and of whose the session is. */
export class KernelFacts {
  /** This console may run, stop, set, restart, and talk to the agent. */
  owner = false;
  /** "" while it is not known. */
  language = "";
  /** 0: there is none, or it is not known. */
  pid = 0;

  /** Takes in a message of /run; true: it tells of these. */
  heard(message: Message): boolean {
    if (message.type === "ready") this.greeted(message);
    else if (message.type === "managed_process_exit" && message.name === "kernel") this.pid = 0;
    else return false;
    return true;
  }

  private greeted(ready: Message): void {
    this.owner = ready.session_owner === true;
    this.language = textOf(ready.language) || this.language;
    this.pid = ready.kernel_status === "running" ? numberOrZero(ready.kernel_pid) : 0;
  }
}
