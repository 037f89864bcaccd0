import { useMemo } from "react";
import { LongText } from "./LongText";

/** A value as JSON, indented. */
export function JsonText({ value }: { value: unknown }) {
  const text = useMemo(() => indented(value), [value]);
  return <LongText text={text} />;
}

function indented(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? "nothing";
  } catch {
    return "This value cannot be written as JSON.";
  }
}
