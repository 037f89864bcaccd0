import { plainName } from "../../text/displayText";

/** A name that comes from outside, isolated from the text direction around it. */
export function ForeignName({ text }: { text: string }) {
  return <bdi>{plainName(text)}</bdi>;
}
