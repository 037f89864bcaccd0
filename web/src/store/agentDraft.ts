import { ConversationDraft } from "./conversationDraft";
import { limitConversation } from "./limitConversation";
import type { Agent } from "./state";

/** The agent's part of a state while it is changed. The fields are those of Agent. */
export class AgentDraft {
  status: Agent["status"];
  stream: Agent["stream"];
  usage: Agent["usage"];
  /** 0: unknown. */
  context: number;
  request: Agent["request"];
  restarting: boolean;
  seq: number;
  cleared: number;
  readonly conversation: ConversationDraft;

  constructor(private readonly base: Agent) {
    this.status = base.status;
    this.stream = base.stream;
    this.usage = base.usage;
    this.context = base.context ?? 0;
    this.request = base.request;
    this.restarting = base.restarting ?? false;
    this.seq = base.seq ?? 0;
    this.cleared = base.cleared ?? 0;
    this.conversation = new ConversationDraft(base.conversation);
  }

  finish(): Agent {
    const { base, status, stream, usage, context, request, restarting, seq, cleared } = this;
    const { items } = this.conversation;
    const conversation = items === base.conversation ? items : limitConversation(items);
    const isSame =
      base.status === status &&
      base.stream === stream &&
      base.usage === usage &&
      (base.context ?? 0) === context &&
      base.request === request &&
      (base.restarting ?? false) === restarting &&
      (base.seq ?? 0) === seq &&
      (base.cleared ?? 0) === cleared &&
      base.conversation === conversation;
    if (isSame) return base;
    return {
      status,
      conversation,
      stream,
      usage,
      context,
      request,
      seq,
      cleared,
      ...(restarting ? { restarting } : {}),
    };
  }
}
