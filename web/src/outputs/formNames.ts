import { plainName } from "../text/displayText";
import type { Form } from "./mime";

const names: Readonly<Record<Form["kind"], string>> = {
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

/** What people call the forms of one output, each by another name. */
export function formNames(forms: readonly Form[]): readonly string[] {
  const found = forms.map(nameOf);
  return found.map((name, index) =>
    found.indexOf(name) === found.lastIndexOf(name) ? name : `${name} (${plainName(forms[index]?.mime, 60)})`,
  );
}

function nameOf(form: Form): string {
  if (form.kind === "html" && /<table[\s>]/i.test(form.text)) return "Table";
  if (form.kind === "text" && form.mime !== "text/plain") return `Text (${plainName(form.mime, 60)})`;
  return names[form.kind];
}
