/** The name of a file about a study: `<study>-<what><extension>`, which says so if the study is a test. */
export function fileNameAbout(
  study: string,
  {
    isTest,
    what,
    extension,
  }: { readonly isTest: boolean; readonly what: string; readonly extension: string },
): string {
  return `${partOfFileName(study)}${isTest ? '-TEST' : ''}-${what}${extension}`;
}

function partOfFileName(study: string): string {
  return (
    study
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
      .replace(/^[-.]+/, '')
      .slice(0, 60) || 'study'
  );
}
