import Download from "lucide-react/icons/download";
import { useSelect, useStore } from "../store/store";
import { IconButton } from "../ui/Button";

/** Renders a button that downloads the notebook with its outputs as a Jupyter notebook. */
export function DownloadNotebook({ session, language }: { session: string; language: string }) {
  const store = useStore();
  const empty = useSelect((state) => state.notebook.order.length === 0);
  const name = `${session.replace(/[^\w.-]+/g, "_").slice(0, 80) || "notebook"}.ipynb`;
  const onClick = async () => {
    const { notebook } = store.get();
    const { ipynbOf } = await import("./ipynb");
    saveNotebookFile(ipynbOf(notebook, language || "python"), name);
  };
  return (
    <IconButton label={`Download the notebook, as ${name}`} disabled={empty} onClick={onClick}>
      <Download />
    </IconButton>
  );
}

/** Downloads a text as a notebook file with the given name. */
function saveNotebookFile(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads the blob after the click
}
