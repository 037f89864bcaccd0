import type { ContentBlock, Message, MessageOf } from "../protocol/messages";
import type { AgentDraft } from "./agentDraft";
import type { StreamBlock } from "./state";

/** How many blocks a streamed reply may have. */
const maxStreamedBlocks = 1000;
/** Characters of a block after which it is not extended any more; the whole text follows with the message. */
const maxBlockLength = 1 << 20;

type StreamFrame = MessageOf<"agent_stream_block_start" | "agent_stream_delta">;

/** Applies a message of a streamed reply. Any message of the stream may be missing. */
export function applyStreamFrame(agent: AgentDraft, message: Message): void {
  switch (message.type) {
    case "agent_stream_start":
      agent.stream = [];
      return;
    case "agent_stream_block_start":
      changeBlock(agent, message, () => emptyBlockOf(message));
      return;
    case "agent_stream_delta":
      changeBlock(agent, message, (block) => appendDelta(block ?? emptyBlockOf(message), message.delta ?? ""));
      return;
    case "agent_stream_complete":
      if (message.error) agent.stream = null;
  }
}

/** Changes a block of the streamed reply by its index. Missing blocks before it become empty texts; an index that is out of bounds is ignored. */
function changeBlock(
  agent: AgentDraft,
  { block_index: index = -1 }: StreamFrame,
  change: (block: StreamBlock | undefined) => StreamBlock,
): void {
  if (index < 0 || index >= maxStreamedBlocks) return;
  const blocks = [...(agent.stream ?? [])];
  while (blocks.length < index) blocks.push({ type: "text", text: "" });
  blocks[index] = change(blocks[index]);
  agent.stream = blocks;
}

function emptyBlockOf({ block_type: kind, block_name: name = "" }: StreamFrame): StreamBlock {
  const type = kind === "thinking" || kind === "tool_use" ? kind : "text";
  return { type, text: "", ...(name === "" ? {} : { name }) };
}

/** Returns a block with more text; unchanged if it is too long already. */
function appendDelta(block: StreamBlock, delta: string): StreamBlock {
  return block.text.length > maxBlockLength ? block : { ...block, text: block.text + delta };
}

/**
 * Ends the streamed reply if it is the message with these blocks, which is in the conversation
 * now. A reply of another conversation stays.
 */
export function endStreamedReply(agent: AgentDraft, blocks: readonly ContentBlock[]): void {
  const first = agent.stream?.find((block) => block.text !== "" || block.name !== undefined);
  if (first === undefined) {
    agent.stream = null;
    return;
  }
  const beginning = first.text.trim().slice(0, 200);
  const isThisMessage = blocks.some((block) => {
    if (block.type !== first.type) return false;
    if (first.type === "tool_use") return block.name === first.name;
    const text = first.type === "thinking" ? block.thinking : block.text;
    return (text ?? "").trim().startsWith(beginning);
  });
  if (isThisMessage) agent.stream = null;
}
