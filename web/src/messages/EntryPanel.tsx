import X from "lucide-react/icons/x";
import type { ReactNode } from "react";
import { formatBytes } from "../format/format";
import { plainName } from "../text/displayText";
import { IconButton } from "../ui/Button";
import { EntryMessage } from "./EntryMessage";
import styles from "./EntryPanel.module.css";
import type { FlowEntry, FlowRequest } from "./entry";
import { shortNameText, traceTimeText } from "./entryTexts";
import type { FilterKind } from "./filters";
import { OddityMark } from "./OddityMark";
import { oddityOfNote } from "./oddity";
import { RequestPath } from "./RequestPath";

interface Props {
  base: string;
  entry: FlowEntry;
  /** Requests that the entry is part of. */
  requests: readonly FlowRequest[];
  complete: boolean;
  onSeq: (seq: number) => void;
  onFilter: (kind: FilterKind, value: string) => void;
  onClose: () => void;
}

/** Shows the details of the selected entry: its fields, its requests and its message. */
export function EntryPanel({ base, entry, requests, complete, onSeq, onFilter, onClose }: Props) {
  const note = oddityOfNote(entry.note);
  const picks: readonly (readonly [string, FilterKind, string])[] = [
    ["Request", "tx", entry.txId],
    ["Action", "action", entry.action],
    ["Cell", "cell", entry.cellId],
    ["Hop", "hop", entry.hop],
  ];
  return (
    <section className={styles.panel} aria-label={`Entry ${entry.seq}`}>
      <header className={styles.head}>
        <h2>{`Entry ${entry.seq}`}</h2>
        {note !== null && <OddityMark oddity={note} />}
        <IconButton label="Close entry" className={styles.close ?? ""} onClick={onClose}>
          <X />
        </IconButton>
      </header>
      <dl className={styles.facts}>
        <EntryFact name="Type">{shortNameText(entry.type) || "No message"}</EntryFact>
        {entry.label !== "" && <EntryFact name="About">{shortNameText(entry.label)}</EntryFact>}
        {picks.map(
          ([name, kind, value]) =>
            value !== "" && (
              <EntryFact key={kind} name={name}>
                <button
                  type="button"
                  className={styles.pick}
                  title="Filter by this"
                  onClick={() => onFilter(kind, value)}
                >
                  {plainName(value)}
                </button>
              </EntryFact>
            ),
        )}
        <EntryFact name="Time">{`${traceTimeText(entry.ms)} s`}</EntryFact>
        <EntryFact name="Size">{formatBytes(entry.bytes)}</EntryFact>
        {entry.ref !== null && <EntryLink name="Forwarded from" seq={entry.ref} onSeq={onSeq} />}
        {entry.cause !== null && <EntryLink name="Caused by" seq={entry.cause} onSeq={onSeq} />}
      </dl>
      {requests.map((request) => (
        <RequestPath key={request.first} request={request} selectedSeq={entry.seq} complete={complete} onSeq={onSeq} />
      ))}
      <EntryMessage key={entry.seq} base={base} entry={entry} onSeq={onSeq} />
    </section>
  );
}

function EntryFact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function EntryLink({ name, seq, onSeq }: { name: string; seq: number; onSeq: (seq: number) => void }) {
  return (
    <EntryFact name={name}>
      <button type="button" className={styles.pick} onClick={() => onSeq(seq)}>{`entry ${seq}`}</button>
    </EntryFact>
  );
}
