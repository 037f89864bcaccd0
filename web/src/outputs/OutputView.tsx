import { memo } from "react";
import { anyObject } from "../json/schema";
import { textOfStringOrLines } from "../json/values";
import { plainName } from "../text/displayText";
import { OutputErrorBoundary } from "./OutputErrorBoundary";
import styles from "./Outputs.module.css";
import { RichOutputView } from "./RichOutputView";
import { StreamOutput } from "./StreamOutput";
import { Traceback } from "./Traceback";

interface Props {
  /** An nbformat output. May be any value: a malformed one is reported in its place. */
  output: unknown;
  /** The number of the output among the cell's outputs, from 1. */
  number: number;
}

/** Shows one output. A malformed one, or one that cannot be rendered, is shown as an error and does not affect the others. */
export const OutputView = memo(function OutputView({ output, number }: Props) {
  return (
    <OutputErrorBoundary outputName={`Output ${number}`} subject={output} fallbackText={() => plainTextOf(output)}>
      <OutputByType output={output} number={number} />
    </OutputErrorBoundary>
  );
});

/** Shows an output with the component for its output_type, or a note if the type is unknown. */
function OutputByType({ output, number }: Props) {
  const fields = anyObject.parse(output);
  switch (fields?.output_type) {
    case "stream":
      return <StreamOutput name={String(fields.name)} text={textOfStringOrLines(fields.text) ?? ""} />;
    case "error":
      return (
        <Traceback
          ename={textOfStringOrLines(fields.ename) ?? ""}
          evalue={textOfStringOrLines(fields.evalue) ?? ""}
          traceback={tracebackText(fields.traceback)}
        />
      );
    case "display_data":
    case "execute_result":
      return <RichOutputView data={fields.data} metadata={fields.metadata} number={number} />;
    default:
      return (
        <p className={styles.note}>
          Output {number} has an unknown type: {plainName(fields?.output_type ?? output, 60)}
        </p>
      );
  }
}

/** Returns a traceback, a string or a list of lines, as one text; "" for anything else. */
function tracebackText(traceback: unknown): string {
  if (typeof traceback === "string") return traceback;
  return Array.isArray(traceback) ? traceback.filter((line) => typeof line === "string").join("\n") : "";
}

/** Returns the first 100,000 UTF-16 units of an output's plain text or traceback; "" if it has none. */
function plainTextOf(output: unknown): string {
  const fields = anyObject.parse(output);
  const text =
    textOfStringOrLines(fields?.text) ??
    textOfStringOrLines(anyObject.parse(fields?.data)?.["text/plain"]) ??
    tracebackText(fields?.traceback);
  return text.slice(0, 100_000);
}
