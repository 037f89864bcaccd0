import X from "lucide-react/icons/x";
import type { ReactNode } from "react";
import { formatBytes } from "../format/format";
import { plainName } from "../text/displayText";
import { IconButton } from "../ui/Button";
import { EntryBody } from "./EntryBody";
import styles from "./EntryPanel.module.css";
import type { FlowEntry, FlowRequest } from "./entry";
import type { FilterKind } from "./filters";
import { Mark } from "./Mark";
import { noteOf } from "./oddity";
import { RequestWay } from "./RequestWay";
import { nameText, timeText } from "./words";

interface Props {
  base: string;
  entry: FlowEntry;
  /** Those that it is part of. */
  requests: readonly FlowRequest[];
  complete: boolean;
  onSeq: (seq: number) => void;
  onFilter: (kind: FilterKind, value: string) => void;
  onClose: () => void;
}

/** All there is about the entry that is selected. */
export function EntryPanel({ base, entry, requests, complete, onSeq, onFilter, onClose }: Props) {
  const note = noteOf(entry.note);
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
        {note !== null && <Mark oddity={note} />}
        <IconButton label="Close the entry" className={styles.close ?? ""} onClick={onClose}>
          <X />
        </IconButton>
      </header>
      <dl className={styles.facts}>
        <Fact name="Type">{nameText(entry.type) || "It is no message"}</Fact>
        {entry.label !== "" && <Fact name="About">{nameText(entry.label)}</Fact>}
        {picks.map(
          ([name, kind, value]) =>
            value !== "" && (
              <Fact key={kind} name={name}>
                <button
                  type="button"
                  className={styles.pick}
                  title="Show only what is about this"
                  onClick={() => onFilter(kind, value)}
                >
                  {plainName(value)}
                </button>
              </Fact>
            ),
        )}
        <Fact name="Time">{`${timeText(entry.ms)} s`}</Fact>
        <Fact name="Size">{formatBytes(entry.bytes)}</Fact>
        {entry.ref !== null && <Link name="Passed on from" seq={entry.ref} onSeq={onSeq} />}
        {entry.cause !== null && <Link name="Caused by" seq={entry.cause} onSeq={onSeq} />}
      </dl>
      {requests.map((request) => (
        <RequestWay key={request.first} request={request} here={entry.seq} complete={complete} onSeq={onSeq} />
      ))}
      <EntryBody key={entry.seq} base={base} entry={entry} onSeq={onSeq} />
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Link({ name, seq, onSeq }: { name: string; seq: number; onSeq: (seq: number) => void }) {
  return (
    <Fact name={name}>
      <button type="button" className={styles.pick} onClick={() => onSeq(seq)}>{`entry ${seq}`}</button>
    </Fact>
  );
}
