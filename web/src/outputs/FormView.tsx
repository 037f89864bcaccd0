import { DataTable } from "./DataTable";
import { HtmlOutput } from "./HtmlOutput";
import { JsonTree } from "./JsonTree";
import { Markdown } from "./Markdown";
import { Media } from "./Media";
import type { Form } from "./mime";
import { Picture } from "./Picture";
import { PlotOutput } from "./PlotOutput";
import { svgUrl } from "./svg";
import { Tex } from "./Tex";
import { TerminalText } from "./terminal/TerminalText";

interface Props {
  form: Form;
  /** What is said of a picture to those who do not see it. */
  alt: string;
  /** How wide a picture is to be, in CSS pixels; null: as wide as it is. */
  width: number | null;
  /** The output. */
  of: object;
}

/** One form of an output. */
export function FormView({ form, alt, width, of }: Props) {
  switch (form.kind) {
    case "plot":
      return <PlotOutput figure={form.figure} of={of} />;
    case "html":
      return <HtmlOutput html={form.text} of={of} />;
    case "svg":
      return <Picture key={form.text} src={svgUrl(form.text)} alt={alt} mime={form.mime} width={width} />;
    case "image":
      return <Picture key={form.base64} src={urlOf(form)} alt={alt} mime={form.mime} width={width} />;
    case "audio":
    case "video":
      return <Media key={form.base64} kind={form.kind} src={urlOf(form)} mime={form.mime} />;
    case "markdown":
      return <Markdown source={form.text} />;
    case "latex":
      return <Tex source={form.text} />;
    case "table":
      return <DataTable schema={form.schema} rows={form.rows} />;
    case "json":
      return <JsonTree value={form.value} />;
    case "text":
      return <TerminalText text={form.text} label={form.mime} />;
  }
}

function urlOf({ mime, base64 }: { mime: string; base64: string }): string {
  return `data:${mime};base64,${base64}`;
}
