import { plainName } from "../text/displayText";
import type { OutputForm } from "./outputForms";

/** Display names of outputs' forms, by kind. */
const formKindNames: Readonly<Record<OutputForm["kind"], string>> = {
  plot: "Plot",
  html: "Formatted",
  svg: "Drawing",
  image: "Picture",
  audio: "Sound",
  video: "Video",
  markdown: "Formatted text",
  latex: "Formula",
  table: "Table",
  json: "JSON",
  text: "Plain text",
};

/** Returns the display names of an output's forms, in their order. Names that would repeat get their MIME type in parentheses. */
export function uniqueFormNames(forms: readonly OutputForm[]): readonly string[] {
  const found = forms.map(formNameOf);
  return found.map((name, index) =>
    found.indexOf(name) === found.lastIndexOf(name) ? name : `${name} (${plainName(forms[index]?.mime, 60)})`,
  );
}

function formNameOf(form: OutputForm): string {
  if (form.kind === "html" && /<table[\s>]/i.test(form.text)) return "Table";
  if (form.kind === "text" && form.mime !== "text/plain") return `Text (${plainName(form.mime, 60)})`;
  return formKindNames[form.kind];
}
