import { getFileResponse } from "../../api/client";

/**
 * Downloads a file and saves it under a name. It uses fetch because a plain link would not send the
 * token. Rejects if the request fails.
 */
export async function download(path: string, name: string): Promise<void> {
  const blob = await (await getFileResponse(path)).blob();
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the browser reads the blob after the click
}
