import { attemptOver, notOwner } from "../commands/whyNot";

/** What the server says of itself in its protocol's words, and the same for people, who know none of its messages. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/\bthe session has ended\b/, attemptOver],
  [/\banother console owns this session\b/, notOwner],
  [/\bthis session is only shown\b/, "This session can only be looked at."],
  [/^there is no kernel to \w+/, "There is no kernel. Restart it to go on."],
  [/^the kernel is ending\b/, "The kernel is ending. Restart it to go on."],
  [/^the kernel does not read\b/, "The kernel has too much to do: wait, or restart it."],
  [/\ba case is attached: the end of\b/, "Kernel and agent cannot be restarted during an attempt."],
];

/** The name of a message or an action, which stands before what is said of it. */
const wireName = /^[a-z]+(?:_[a-z]+)+: /;

/** What the server says, in words for people; what is not known stays, but for the name of the message before it. */
export function plainWords(text: string): string {
  const known = sentences.find(([pattern]) => pattern.test(text));
  return known === undefined ? text.replace(wireName, "") : known[1];
}
