import { useState } from "react";
import { formatCountOf } from "../format/format";
import { plainName } from "../text/displayText";
import styles from "./JsonTree.module.css";

/** How many members of a list or object are shown together; more are split into slices that can be opened. */
const maxSliceMembers = 100;

/** Length in UTF-16 units at which strings are cut until they are opened. */
const maxTextLength = 2000;

/** Shows a JSON value as a tree. Members of a list or object are rendered when it is opened. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div className={styles.tree}>
      <JsonNode value={value} open />
    </div>
  );
}

interface JsonNodeProps {
  /** The value's key in its parent; absent for the root. */
  name?: string;
  value: unknown;
  /** Whether the members are shown at first. */
  open?: boolean;
}

/** Shows one value of a JSON tree, with its name. */
function JsonNode({ name, value, open = false }: JsonNodeProps) {
  const label = name === undefined ? null : <span className={styles.key}>{plainName(name)}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div>
        {label}
        <JsonLeaf value={value} />
      </div>
    );
  }
  const keys = Array.isArray(value) ? null : Object.keys(value);
  const size = keys?.length ?? (value as readonly unknown[]).length;
  const member = (index: number) => {
    const key = keys?.[index] ?? String(index);
    return <JsonNode key={index} name={key} value={(value as Record<string, unknown>)[key]} />;
  };
  return (
    <CollapsibleGroup label={label} summary={memberCountText(keys === null, size)} open={open && size > 0}>
      <JsonMembers from={0} to={size} renderMember={member} />
    </CollapsibleGroup>
  );
}

interface CollapsibleGroupProps {
  label: React.ReactNode;
  summary: string;
  open: boolean;
  children: React.ReactNode;
}

/** Shows a summary; a click shows or hides the content below it. */
function CollapsibleGroup({ label, summary, open: first, children }: CollapsibleGroupProps) {
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

interface JsonMembersProps {
  from: number;
  to: number;
  renderMember: (index: number) => React.ReactNode;
}

/** Shows the members with the indexes from `from` to `to` - 1; more than 100 as slices that can be opened. */
function JsonMembers({ from, to, renderMember }: JsonMembersProps) {
  const step = sliceSizeOf(to - from);
  const starts = Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);
  if (step === 1) return starts.map(renderMember);
  return starts.map((start) => {
    const end = Math.min(start + step, to);
    return (
      <CollapsibleGroup key={start} label={null} summary={`[${start} … ${end - 1}]`} open={false}>
        <JsonMembers from={start} to={end} renderMember={renderMember} />
      </CollapsibleGroup>
    );
  });
}

/** Returns how many members a slice has if `count` members are split into at most 100 slices: 1, 100, 10000, ... */
function sliceSizeOf(count: number): number {
  let step = 1;
  while (count > step * maxSliceMembers) step *= maxSliceMembers;
  return step;
}

/** Shows a JSON value that is not a list or object. A long string is cut, with a button that shows all of it. */
function JsonLeaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className={styles.literal}>{String(value)}</span>;
  const cut = !whole && value.length > maxTextLength;
  return (
    <span className={styles.string}>
      {JSON.stringify(cut ? value.slice(0, maxTextLength) : value)}
      {cut && (
        <button type="button" className={styles.toggle} onClick={() => setWhole(true)}>
          … {(value.length - maxTextLength).toLocaleString("en")} more characters
        </button>
      )}
    </span>
  );
}

/** Returns the number of members for display, as "[ 3 items ]" or "{ 1 key }". */
function memberCountText(list: boolean, size: number): string {
  const count = formatCountOf(size, list ? "item" : "key");
  return list ? `[ ${count} ]` : `{ ${count} }`;
}
