/** It names the study and no participant: it stays in a folder of downloads. */
export function fileNameOfToday(study: string, what: string): string {
  const day = new Date().toISOString().slice(0, 10);
  return `${study.replace(/[^\p{L}\p{N}._-]+/gu, '-')}-${what}-${day}.csv`;
}

/** Saves a file where the browser keeps downloads. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
