import { useMemo, useState } from "react";
import { anyObject } from "../json/schema";
import { linesOf } from "../json/values";
import { plainName } from "../text/displayText";
import { FormChooser } from "./FormChooser";
import { FormView } from "./FormView";
import { type Forms, formsOf } from "./mime";
import styles from "./Outputs.module.css";

interface Props {
  /** A MIME bundle, or whatever is there. */
  data: unknown;
  metadata: unknown;
  /** Which output it is, from 1. */
  number: number;
}

/** An output in the richest form that can be shown; where it has others, they can be chosen. */
export function RichOutputView({ data, metadata, number }: Props) {
  const { forms, notes } = useMemo<Forms>(() => formsOf(data), [data]);
  const [chosen, setChosen] = useState<string | null>(null);
  const form = forms.find(({ mime }) => mime === chosen) ?? forms[0];
  return (
    <div className={styles.rich}>
      {notes.map((note) => (
        <p key={note} className={styles.note}>
          {plainName(note, 300)}
        </p>
      ))}
      {form !== undefined && (
        <FormView
          key={form.mime}
          form={form}
          alt={altOf(data, form.mime)}
          width={widthOf(metadata, form.mime)}
          of={data as object}
        />
      )}
      {form !== undefined && forms.length > 1 && (
        <FormChooser forms={forms} chosen={form} number={number} onChoose={setChosen} />
      )}
      {form === undefined && notes.length === 0 && <p className={styles.note}>This output is empty.</p>}
    </div>
  );
}

function altOf(data: unknown, mime: string): string {
  const text = linesOf(anyObject.parse(data)?.["text/plain"]);
  return text === null || text.trim() === "" ? `Picture, ${plainName(mime, 60)}` : plainName(text.trim(), 300);
}

/** nbformat has it as metadata["image/png"].width, or beside the types. */
function widthOf(metadata: unknown, mime: string): number | null {
  const all = anyObject.parse(metadata);
  const width = anyObject.parse(all?.[mime])?.width ?? all?.width;
  return typeof width === "number" && width >= 1 && width <= 10_000 ? width : null;
}
