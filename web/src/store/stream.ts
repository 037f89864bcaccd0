import { type Fields, textOf } from "../json/read";
import type { AgentDraft } from "./agentDraft";
import type { StreamBlock } from "./state";

/** How many blocks a reply may have, and how long the text of one is shown while it arrives. It follows whole. */
const mostBlocks = 1000;
const longestText = 1 << 20;

/** Takes in a frame of a reply that is arriving. Any of them may have been left out on the way. */
export function foldStream(agent: AgentDraft, frame: Fields): void {
  switch (frame.type) {
    case "agent_stream_start":
      agent.stream = [];
      return;
    case "agent_stream_block_start":
      setBlock(agent, frame, () => blockOf(frame));
      return;
    case "agent_stream_delta":
      setBlock(agent, frame, (block) => longer(block ?? blockOf(frame), textOf(frame.delta)));
      return;
    case "agent_stream_complete":
      if (textOf(frame.error) !== "") agent.stream = null;
  }
}

function setBlock(agent: AgentDraft, frame: Fields, f: (block: StreamBlock | undefined) => StreamBlock): void {
  const index = frame.block_index;
  if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= mostBlocks) return;
  const blocks = [...(agent.stream ?? [])];
  while (blocks.length < index) blocks.push({ type: "text", text: "" });
  blocks[index] = f(blocks[index]);
  agent.stream = blocks;
}

function blockOf(frame: Fields): StreamBlock {
  const kind = frame.block_type;
  const type = kind === "thinking" || kind === "tool_use" ? kind : "text";
  const name = textOf(frame.block_name);
  return { type, text: "", ...(name === "" ? {} : { name }) };
}

function longer(block: StreamBlock, delta: string): StreamBlock {
  return block.text.length > longestText ? block : { ...block, text: block.text + delta };
}

/**
 * Takes in that an assistant's message is part of the conversation now: the reply
 * that was arriving is gone if it was that message, and not of another conversation.
 */
export function foldCommitted(agent: AgentDraft, blocks: readonly Fields[]): void {
  const first = agent.stream?.find((block) => block.text !== "" || block.name !== undefined);
  if (first === undefined) {
    agent.stream = null;
    return;
  }
  const begun = first.text.trim().slice(0, 200);
  const isIt = blocks.some((block) => {
    if (block.type !== first.type) return false;
    if (first.type === "tool_use") return block.name === first.name;
    return textOf(first.type === "thinking" ? block.thinking : block.text)
      .trim()
      .startsWith(begun);
  });
  if (isIt) agent.stream = null;
}
