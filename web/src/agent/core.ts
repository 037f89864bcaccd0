import type { Message } from "../protocol/messages";
import { createStore, type Store } from "../store/store";
import { Conversation } from "./conversation";
import { entryOf } from "./frames";
import { Inbox } from "./inbox";
import { Notices } from "./notices";
import { errorText, Requests } from "./requests";
import { SentRuns } from "./sentRuns";

/** What a session needs whoever holds the notebook: the state, and what is on its way into it. */
export class Core {
  readonly store: Store = createStore();
  readonly inbox = new Inbox(this.store);
  readonly requests = new Requests();
  readonly sent = new SentRuns(this.store);
  readonly notices: Notices;
  readonly conversation: Conversation;

  /** changed is called when there are other notices. */
  constructor(session: string, changed: () => void) {
    this.notices = new Notices(changed);
    this.conversation = new Conversation(session, this.store, this.inbox, (why) =>
      this.notices.add("error", `What was said before cannot be shown: ${why}.`),
    );
  }

  /** Takes in a message of either connection that is the same for views and holders. */
  take(message: Message): void {
    switch (message.type) {
      case "error":
      case "not_session_owner_error":
        this.inbox.add({ act: () => this.refused(message) });
        return;
      case "set_widget_value_response":
      case "globals_summary":
      case "reactivity_summary":
      case "notebook_action_response":
        this.inbox.add({ act: () => void this.requests.settle(message) });
        return;
    }
    const entry = entryOf(message);
    if (entry === null) return;
    if (entry.hop === "agent>server") this.conversation.add(entry);
    else this.inbox.add({ entry });
    if (message.event === "cell_deleted") this.dispose(message);
  }

  /** The kernel forgets a cell that is deleted, of which views are not told apart. */
  private dispose({ cell_id }: Message): void {
    const msg = { type: "dispose_cell", cell_id };
    this.inbox.add({ entry: { seq: 0, hop: "server>kernel", msg } });
  }

  private refused(message: Message): void {
    if (this.requests.settle(message)) return;
    this.sent.withdraw();
    this.notices.add("error", errorText(message));
  }
}
