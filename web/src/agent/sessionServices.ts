import type { Message, MessageOf } from "../protocol/messages";
import { createStore, type Store } from "../store/store";
import { ConversationLoader } from "./conversationLoader";
import { entryOfConsoleMessage } from "./entries";
import { Inbox } from "./inbox";
import { Notices } from "./notices";
import { isAgentRestartError, Requests, userErrorText } from "./requests";
import { SentCells } from "./sentCells";
import { UnconfirmedMessages } from "./unconfirmedMessages";

/** The parts of a session that both views and holders of the notebook use. */
export class SessionServices {
  readonly store: Store = createStore();
  readonly inbox = new Inbox(this.store);
  readonly requests = new Requests();
  readonly sentCells = new SentCells(this.store);
  readonly unconfirmed = new UnconfirmedMessages();
  readonly notices: Notices;
  readonly conversation: ConversationLoader;

  /**
   * onNotices is called when the list of notices changes, onHistoryLoaded when it is known which
   * sent messages have arrived.
   */
  constructor(session: string, onNotices: () => void, onHistoryLoaded: () => void = () => undefined) {
    this.notices = new Notices(onNotices);
    this.conversation = new ConversationLoader(session, this.store, this.inbox, this.unconfirmed, {
      failed: (why) => this.notices.add("error", `What was said before could not be loaded: ${why}.`),
      loaded: () => onHistoryLoaded(),
    });
  }

  /** Handles a message of either connection that views and holders treat alike. */
  receive(message: Message): void {
    this.unconfirmed.receive(message);
    switch (message.type) {
      case "error":
      case "not_session_owner_error":
        this.inbox.add({ run: () => this.handleError(message) });
        return;
      case "set_widget_value_response":
      case "globals_summary":
      case "reactivity_summary":
      case "notebook_action_response":
        this.inbox.add({ run: () => void this.requests.settle(message) });
        return;
    }
    const entry = entryOfConsoleMessage(message);
    if (entry === null) return;
    if (entry.hop === "agent>server") this.conversation.add(entry);
    else this.inbox.add({ entry });
    if (message.type === "notebook_event" && message.event === "cell_deleted") this.disposeCell(message);
  }

  /** Removes a deleted cell's execution: the server does not forward dispose_cell to views. */
  private disposeCell({ cell_id = "" }: MessageOf<"notebook_event">): void {
    const msg = { type: "dispose_cell", cell_id } as const;
    this.inbox.add({ entry: { seq: 0, hop: "server>kernel", msg } });
  }

  private handleError(message: MessageOf<"error" | "not_session_owner_error">): void {
    if (this.requests.settle(message)) return;
    this.sentCells.withdraw();
    const text = userErrorText(message);
    this.notices.add("error", text);
    if (isAgentRestartError(message) && this.store.get().agent.status === "gone") this.noteFailedRestart(text);
  }

  /** Reports in the conversation why no other agent has replaced the one that ended. */
  private noteFailedRestart(why: string): void {
    const msg = { type: "agent_error", error: `It could not be started again: ${why}`, fatal: true } as const;
    this.conversation.add({ seq: 0, hop: "agent>server", msg });
  }
}
