/** What is wrong with an amendment, or may be, in the terms of the options and the studies file. */

import type { Protocol } from '../../events/define.ts';
import type { DesignChange } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import {
  type AmendmentDoubt,
  describeChange,
  isSameProtocol,
  settingOf,
} from '../core/configuration/amendment.ts';
import type { ConfiguredStudy } from '../core/configuration/study.ts';
import type { FieldProblem } from '../core/model/outcomes.ts';
import { APPROVAL_EXAMPLE } from './approvals.ts';

/** The line of a setting, in the form that compilers use. */
export function lineOf({ file, lineOf: lineIn }: ConfiguredStudy, setting: string): string {
  return `${file}:${lineIn(setting)}`;
}

/** A problem of a change, with the line of the file that asks for it. */
export function problemText(
  { field, why }: FieldProblem,
  changes: readonly DesignChange[],
  file: ConfiguredStudy,
): string {
  const [, index] = /^changes\[(\d+)\]/.exec(field) ?? [];
  const change = index === undefined ? undefined : changes[Number(index)];
  if (change?.kind === 'arm-stopped') return `--stop ${quote(change.treatment)}: ${why}`;
  if (change)
    return `${lineOf(file, settingOf(change))}: ${settingOf(change)}: ${describeChange(change)}: ${why}`;
  if (field === 'approvals') return `${why} (hint: --approved-by '${APPROVAL_EXAMPLE}')`;
  return field === 'history' ? `--history: ${why}` : `${field}: ${why}`;
}

/** The file would differ as soon as the amendment is recorded. */
export function protocolProblems(file: ConfiguredStudy, decided: Protocol | undefined): string[] {
  const inFile = file.configuration.protocol;
  if (!inFile || !decided || isSameProtocol(inFile, decided)) return [];
  return [
    `${lineOf(file, 'protocol')}: the file names a different protocol from --protocol (hint: bring it up to date)`,
  ];
}

export function doubtText(doubt: AmendmentDoubt): string {
  switch (doubt.about) {
    case 'earlier-design':
      return 'warning: the file describes an earlier design, so this reverts what was amended since (hint: is it up to date?)';
    case 'renamed-level': {
      const { factor, closed, added } = doubt;
      const pair = closed.length + added.length === 2 ? `${closed[0]}=${added[0]}` : 'OLD=NEW';
      return `hint: ${factor} loses one level and gains another; if they are the same level under two names, use --rename ${quote(`${factor}:${pair}`)}`;
    }
    case 'renamed-arm':
      return 'hint: one arm is closed and another is added; an arm cannot be renamed, so if it is the same treatment, write its old name';
  }
}
