import { plainName } from "../../text/displayText";

/**
 * Shows a name that comes from a file or an agent, isolated so that its characters cannot change
 * the text direction around it.
 */
export function ForeignName({ text }: { text: string }) {
  return <bdi>{plainName(text)}</bdi>;
}
