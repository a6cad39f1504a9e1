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

export const hinted = ({ reason, hint }: Problem): string => `${reason} (hint: ${hint})`;

/** Notes a finding and returns, so that all are reported together. */
export type Note = (line: number, message: string) => void;

/** The finding on one line, in the style of compilers: `file:line: reason (hint: what to do)`. */
export function formatFinding(finding: Finding): string {
  return `${finding.file}:${finding.line}: ${finding.message}`;
}

/** Collects the findings of one file while it is read. */
export function findingsOf(file: string) {
  const findings: Finding[] = [];
  return {
    note: (line: number, message: string): void => {
      findings.push({ file, line, message });
    },
    count: () => findings.length,
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
