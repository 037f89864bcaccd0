import { visible } from "../data/visible";

/** A name of somebody else's making, between words of ours. */
export function Name({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}
