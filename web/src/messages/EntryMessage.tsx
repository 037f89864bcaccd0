import { useState } from "react";
import { getJSON } from "../api/client";
import { Problem } from "../api/Problem";
import { useLoad } from "../api/useLoad";
import { formatBytes } from "../format/format";
import { anyObject, read } from "../json/schema";
import { CopyButton } from "../outputs/CopyButton";
import { JsonTree } from "../outputs/JsonTree";
import { modelRequestSchema } from "../protocol/api.gen";
import { tracePageSchema } from "../protocol/session.gen";
import { Button } from "../ui/Button";
import styles from "./EntryPanel.module.css";
import type { FlowEntry } from "./entry";
import { sameAsEarlierText } from "./modelCall";

/** Messages larger than this many bytes are loaded only when the user asks for it. */
const maxAutoLoadBytes = 2 * 1024 * 1024;

interface Props {
  base: string;
  entry: FlowEntry;
  onSeq: (seq: number) => void;
}

/** Shows the message of an entry of a trace as JSON, with a button that copies it. */
export function EntryMessage({ base, entry, onSeq }: Props) {
  const [wanted, setWanted] = useState(entry.bytes <= maxAutoLoadBytes);
  const from = entry.ref ?? entry.seq;
  const { data, error, reload } = useLoad(wanted ? `${base} ${from}` : null, (signal) =>
    loadEntryMessage(base, from, signal),
  );
  const [isWhole, setIsWhole] = useState(false);
  const whole = useLoad(isWhole ? `${base} request ${from}` : null, (signal) =>
    getJSON(`${base}/request`, modelRequestSchema, { seq: from }, signal),
  );
  if (!wanted) {
    return (
      <p className={styles.large}>
        {`The message has ${formatBytes(entry.bytes)}. `}
        <Button onClick={() => setWanted(true)}>Show</Button>
      </p>
    );
  }
  if (error !== null) return <Problem what="The message could not be loaded" error={error} onRetry={reload} />;
  if (data === null) return <p className={styles.large}>Loading…</p>;
  const same = entry.type === "model_call" ? sameAsEarlierText(data.msg) : "";
  const message = whole.data === null ? data.msg : { ...read(anyObject, data.msg), request: whole.data.request };
  return (
    <div className={styles.body}>
      <div className={styles.bodyHead}>
        <span>
          Message
          {entry.ref !== null && (
            <>
              , the same as{" "}
              <button type="button" className={styles.pick} onClick={() => onSeq(from)}>{`entry ${from}`}</button>
            </>
          )}
        </span>
        <CopyButton text={() => textToCopy(message)} />
      </div>
      {same !== "" && (
        <p className={styles.large}>
          {whole.data === null ? `Left out here, because ${same}. ` : `The whole request; ${same}.`}
          {!isWhole && <Button onClick={() => setIsWhole(true)}>Show the whole request</Button>}
          {isWhole && whole.loading && "Loading…"}
        </p>
      )}
      {whole.error !== null && (
        <Problem what="The whole request could not be loaded" error={whole.error} onRetry={whole.reload} />
      )}
      {message === undefined ? (
        <p className={styles.large}>No content.</p>
      ) : (
        <JsonTree key={whole.data === null ? "stored" : "whole"} value={message} />
      )}
    </div>
  );
}

/**
 * Loads the message of an entry as it is in the trace, without validating it. Rejects if the
 * request fails.
 */
async function loadEntryMessage(base: string, seq: number, signal: AbortSignal): Promise<{ msg: unknown }> {
  const { entries } = await getJSON(`${base}/trace`, tracePageSchema, { from: seq, limit: 1 }, signal);
  const entry = read(anyObject, entries[0]);
  if (entry.seq !== seq) throw new Error(`entry ${seq} is not in the trace`);
  return { msg: entry.msg };
}

/** Returns the text to copy for a message: a malformed one unchanged, any other as JSON. */
function textToCopy(msg: unknown): string {
  return typeof msg === "string" ? msg : (JSON.stringify(msg, null, 2) ?? "");
}
