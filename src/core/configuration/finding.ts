/** An error or a warning in a studies file: where, why, and what to do about it. */
export type Finding = {
  readonly file: string;
  /** Line in the file, from 1. */
  readonly line: number;
  /** `reason (hint: what to do)`. Never contains a treatment's name or a seed, because the service prints findings. */
  readonly message: string;
};

/** Why a value cannot be used, and what to do about it. */
export type Problem = { readonly reason: string; readonly hint: string };

/** Notes a refusal and returns, so that all refusals are reported together. */
export type Refuse = (line: number, reason: string, hint: string) => void;

/** The finding on one line, in the style of compilers: `file:line: reason (hint: what to do)`. */
export function formatFinding(finding: Finding): string {
  return `${finding.file}:${finding.line}: ${finding.message}`;
}

/** Collects the findings of one file while it is read. */
export function findingsOf(file: string): { note: Refuse; sorted: () => Finding[] } {
  const findings: Finding[] = [];
  return {
    note: (line, reason, hint) => findings.push({ file, line, message: `${reason} (hint: ${hint})` }),
    sorted: () => findings.toSorted(byLine),
  };
}

const byLine = (a: Finding, b: Finding) => a.line - b.line;

/** The studies file is refused as a whole. `findings` holds every reason, in the order of the file. */
export class StudiesFileError extends Error {
  override readonly name = 'StudiesFileError';
  readonly findings: readonly Finding[];

  constructor(findings: readonly Finding[]) {
    const inOrder = findings.toSorted(byLine);
    super(`the studies file is refused:\n${inOrder.map((one) => `  ${formatFinding(one)}`).join('\n')}`);
    this.findings = inOrder;
  }
}
