import { DataTable } from "./DataTable";
import { HtmlOutput } from "./HtmlOutput";
import { JsonTree } from "./JsonTree";
import { LatexOutput } from "./LatexOutput";
import { Markdown } from "./Markdown";
import { MediaPlayer } from "./MediaPlayer";
import type { OutputForm } from "./outputForms";
import { Picture } from "./Picture";
import { PlotOutput } from "./PlotOutput";
import { svgDataUrl } from "./svg";
import { TerminalText } from "./terminal/TerminalText";

interface Props {
  form: OutputForm;
  /** Alternative text of a picture. */
  alt: string;
  /** Width of a picture in CSS pixels; null: its natural width. */
  width: number | null;
  /** Identifies the output: a frame that shows it again starts with the height it had before. */
  outputKey: object;
}

/** Shows an output in one of its forms. */
export function FormView({ form, alt, width, outputKey }: Props) {
  switch (form.kind) {
    case "plot":
      return <PlotOutput figure={form.figure} of={outputKey} />;
    case "html":
      return <HtmlOutput html={form.text} of={outputKey} />;
    case "svg":
      return <Picture key={form.text} src={svgDataUrl(form.text)} alt={alt} mime={form.mime} width={width} />;
    case "image":
      return <Picture key={form.base64} src={dataUrlOfBase64(form)} alt={alt} mime={form.mime} width={width} />;
    case "audio":
    case "video":
      return <MediaPlayer key={form.base64} kind={form.kind} src={dataUrlOfBase64(form)} mime={form.mime} />;
    case "markdown":
      return <Markdown source={form.text} />;
    case "latex":
      return <LatexOutput source={form.text} />;
    case "table":
      return <DataTable schema={form.schema} rows={form.rows} />;
    case "json":
      return <JsonTree value={form.value} />;
    case "text":
      return <TerminalText text={form.text} label={form.mime} />;
  }
}

/** Returns a data: URL of base64 content. */
function dataUrlOfBase64({ mime, base64 }: { mime: string; base64: string }): string {
  return `data:${mime};base64,${base64}`;
}
