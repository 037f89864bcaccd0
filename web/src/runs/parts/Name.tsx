import { plainName } from "../../text/displayText";

/** A name of somebody else's making, between words of ours. */
export function Name({ text }: { text: string }) {
  return <bdi>{plainName(text)}</bdi>;
}
