import { memo } from "react";
import { anyObject } from "../json/schema";
import { linesOf } from "../json/values";
import { plainName } from "../text/displayText";
import { OutputBoundary } from "./OutputBoundary";
import styles from "./Outputs.module.css";
import { RichOutputView } from "./RichOutputView";
import { StreamOutput } from "./StreamOutput";
import { Traceback } from "./Traceback";

interface Props {
  /** An output of nbformat, or whatever is in its place. */
  output: unknown;
  /** Which one it is, from 1. */
  number: number;
}

/** One output. Whatever it is, it does no harm to what is around it. */
export const OutputView = memo(function OutputView({ output, number }: Props) {
  return (
    <OutputBoundary name={`Output ${number}`} subject={output} text={() => plainText(output)}>
      <Kind output={output} number={number} />
    </OutputBoundary>
  );
});

function Kind({ output, number }: Props) {
  const fields = anyObject.parse(output);
  switch (fields?.output_type) {
    case "stream":
      return <StreamOutput name={String(fields.name)} text={linesOf(fields.text) ?? ""} />;
    case "error":
      return (
        <Traceback
          ename={linesOf(fields.ename) ?? ""}
          evalue={linesOf(fields.evalue) ?? ""}
          traceback={tracebackText(fields.traceback)}
        />
      );
    case "display_data":
    case "execute_result":
      return <RichOutputView data={fields.data} metadata={fields.metadata} number={number} />;
    default:
      return (
        <p className={styles.note}>
          Output {number} is of a kind that is not known: {plainName(fields?.output_type ?? output, 60)}
        </p>
      );
  }
}

function tracebackText(traceback: unknown): string {
  if (typeof traceback === "string") return traceback;
  return Array.isArray(traceback) ? traceback.filter((line) => typeof line === "string").join("\n") : "";
}

function plainText(output: unknown): string {
  const fields = anyObject.parse(output);
  const text =
    linesOf(fields?.text) ?? linesOf(anyObject.parse(fields?.data)?.["text/plain"]) ?? tracebackText(fields?.traceback);
  return text.slice(0, 100_000);
}
