import { useState } from "react";
import { formatCountOf } from "../format/format";
import { plainName } from "../text/displayText";
import styles from "./JsonTree.module.css";

/** Members that are drawn together; more are offered in slices. */
const slice = 100;

/** Texts are cut at this many characters. */
const longest = 2000;

/** A JSON value to look through; what is inside is drawn when it is opened. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div className={styles.tree}>
      <Node value={value} open />
    </div>
  );
}

interface NodeProps {
  name?: string;
  value: unknown;
  /** Opened at first. */
  open?: boolean;
}

function Node({ name, value, open = false }: NodeProps) {
  const label = name === undefined ? null : <span className={styles.key}>{plainName(name)}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div>
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const size = keys?.length ?? (value as readonly unknown[]).length;
  const member = (index: number) => {
    const key = keys?.[index] ?? String(index);
    return <Node key={index} name={key} value={(value as Record<string, unknown>)[key]} />;
  };
  return (
    <Group label={label} summary={summary(keys === null, size)} open={open && size > 0}>
      <Members from={0} to={size} member={member} />
    </Group>
  );
}

interface GroupProps {
  label: React.ReactNode;
  summary: string;
  open: boolean;
  children: React.ReactNode;
}

function Group({ label, summary, open: first, children }: GroupProps) {
  const [open, setOpen] = useState(first);
  return (
    <div>
      <button type="button" className={styles.toggle} aria-expanded={open} onClick={() => setOpen(!open)}>
        {label}
        <span className={styles.summary}>{summary}</span>
      </button>
      {open && <div className={styles.members}>{children}</div>}
    </div>
  );
}

interface MembersProps {
  from: number;
  to: number;
  member: (index: number) => React.ReactNode;
}

/** The members from `from` up to `to`, or where they are many slices of them. */
function Members({ from, to, member }: MembersProps) {
  const step = stepOf(to - from);
  const starts = Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);
  if (step === 1) return starts.map(member);
  return starts.map((start) => {
    const end = Math.min(start + step, to);
    return (
      <Group key={start} label={null} summary={`[${start} … ${end - 1}]`} open={false}>
        <Members from={start} to={end} member={member} />
      </Group>
    );
  });
}

/** How many members each of at most a hundred slices has. */
function stepOf(count: number): number {
  let step = 1;
  while (count > step * slice) step *= slice;
  return step;
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className={styles.literal}>{String(value)}</span>;
  const cut = !whole && value.length > longest;
  return (
    <span className={styles.string}>
      {JSON.stringify(cut ? value.slice(0, longest) : value)}
      {cut && (
        <button type="button" className={styles.toggle} onClick={() => setWhole(true)}>
          … {(value.length - longest).toLocaleString("en")} more characters
        </button>
      )}
    </span>
  );
}

function summary(list: boolean, size: number): string {
  const count = formatCountOf(size, list ? "item" : "key");
  return list ? `[ ${count} ]` : `{ ${count} }`;
}
