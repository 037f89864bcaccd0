import { useMemo, useState } from "react";
import { anyObject } from "../json/schema";
import { textOfStringOrLines } from "../json/values";
import { plainName } from "../text/displayText";
import { FormChooser } from "./FormChooser";
import { FormView } from "./FormView";
import styles from "./Outputs.module.css";
import { type OutputForms, outputFormsOf } from "./outputForms";

interface Props {
  /** A MIME bundle. May be any value: a malformed one is reported in its place. */
  data: unknown;
  metadata: unknown;
  /** The number of the output among the cell's outputs, from 1. */
  number: number;
}

/** Shows a MIME bundle in its richest form, with a menu of the other forms, and notes about types that cannot be shown. */
export function RichOutputView({ data, metadata, number }: Props) {
  const { forms, notes } = useMemo<OutputForms>(() => outputFormsOf(data), [data]);
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
          alt={altTextOf(data, form.mime)}
          width={pictureWidthOf(metadata, form.mime)}
          outputKey={data as object}
        />
      )}
      {form !== undefined && forms.length > 1 && (
        <FormChooser forms={forms} chosen={form} number={number} onChoose={setChosen} />
      )}
      {form === undefined && notes.length === 0 && <p className={styles.note}>This output is empty.</p>}
    </div>
  );
}

/** Returns the alternative text of a picture: the bundle's plain text, else its MIME type. */
function altTextOf(data: unknown, mime: string): string {
  const text = textOfStringOrLines(anyObject.parse(data)?.["text/plain"]);
  return text === null || text.trim() === "" ? `Picture, ${plainName(mime, 60)}` : plainName(text.trim(), 300);
}

/** Returns a picture's width in CSS pixels from metadata["image/png"].width or metadata.width; null if there is none from 1 to 10000. */
function pictureWidthOf(metadata: unknown, mime: string): number | null {
  const all = anyObject.parse(metadata);
  const width = anyObject.parse(all?.[mime])?.width ?? all?.width;
  return typeof width === "number" && width >= 1 && width <= 10_000 ? width : null;
}
