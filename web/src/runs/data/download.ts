import { getFile } from "../../api/client";

/** Saves a file under its name. It is fetched here, since a plain link would not carry the token. */
export async function download(path: string, name: string): Promise<void> {
  const blob = await (await getFile(path)).blob();
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads it after the click
}
