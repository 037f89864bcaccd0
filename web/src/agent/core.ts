import type { Message } from "../protocol/messages";
import { createStore, type Store } from "../store/store";
import { Conversation } from "./conversation";
import { entryOf } from "./frames";
import { Inbox } from "./inbox";
import { Notices } from "./notices";
import { errorText, isRestartError, Requests } from "./requests";
import { SentRuns } from "./sentRuns";
import { SentWords } from "./sentWords";

/** What a session needs whoever holds the notebook: the state, and what is on its way into it. */
export class Core {
  readonly store: Store = createStore();
  readonly inbox = new Inbox(this.store);
  readonly requests = new Requests();
  readonly sent = new SentRuns(this.store);
  readonly words = new SentWords();
  readonly notices: Notices;
  readonly conversation: Conversation;

  /** changed is called when there are other notices; unsent when it is known what of the words has not come. */
  constructor(session: string, changed: () => void, unsent: () => void = () => undefined) {
    this.notices = new Notices(changed);
    this.conversation = new Conversation(session, this.store, this.inbox, this.words, {
      failed: (why) => this.notices.add("error", `What was said before could not be loaded: ${why}.`),
      loaded: () => unsent(),
    });
  }

  /** Takes in a message of either connection that is the same for views and holders. */
  take(message: Message): void {
    this.words.heard(message);
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
    const text = errorText(message);
    this.notices.add("error", text);
    if (isRestartError(message) && this.store.get().agent.status === "gone") this.notBack(text);
  }

  /** The agent is gone, and no other has come in its place: why not belongs into the conversation too. */
  private notBack(why: string): void {
    const msg = { type: "agent_error", error: `It could not be started again: ${why}`, fatal: true };
    this.conversation.add({ seq: 0, hop: "agent>server", msg });
  }
}
