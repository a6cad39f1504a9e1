/**
 * Designs in words: how a study of a file compares with the log, for urn studies check and register, and parts of a design as
 * rows of a table, for urn studies show, too.
 */
import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import type { FileOutcome } from '../core/configuration/file-and-log.ts';
import {
  type Design,
  limitTexts,
  methodText,
  protocolText,
  ratioText,
  registeredDesign,
  visitsText,
} from '../core/model/design.ts';
import { table } from './output.ts';

export function outcomeText(of: FileOutcome): string {
  const lines =
    of.outcome === 'new' ? ['would be registered as', ...registrationText(of).split('\n')] : of.differences;
  const heading = [
    `${of.study}: ${of.outcome}`,
    ...(of.amendment === undefined ? [] : [`amendment ${of.amendment}`]),
  ];
  return [heading.join(', '), ...lines.map((line) => `  ${line}`)].join('\n');
}

function registrationText({ configuration, seedSource, liveByDefault }: FileOutcome): string {
  const { mode, treatments, factors, idPattern, targetEnrollment } = configuration;
  const { start, protocol, ratio, visits } = configuration;
  const design = registeredDesign(configuration);
  const byDefault =
    ' (the file leaves mode out, so it registers as live; write "mode: test" for a rehearsal)';
  const names = (list: readonly string[]) => list.map(quote).join(', ');
  return table([
    ['mode', `${mode}${liveByDefault ? byDefault : ''}`],
    ['blinding', blindingText(design)],
    ...(start === undefined ? [] : [['start', 'paused: urn studies resume opens it']]),
    ['arms', names(treatments)],
    ...(ratio ? [['ratio', ratioText(treatments, ratio)]] : []),
    ...factors.map(({ name, levels }) => [`factor ${quote(name)}`, names(levels)]),
    methodRow(design),
    ['seed', seedSource === 'drawn' ? 'drawn from the operating system' : 'given in the file'],
    ...(idPattern === undefined ? [] : [['id pattern', idPattern]]),
    ...(targetEnrollment === undefined ? [] : [['target', counted(targetEnrollment, 'participant')]]),
    ...limitRows(design),
    ['policies', policiesText(design)],
    ...(visits ? [['visits', visitsText(visits)]] : []),
    ...(protocol ? [['protocol', protocolText(protocol)]] : []),
  ]);
}

export function blindingText({ blinding }: Pick<Design, 'blinding'>): string {
  return blinding === 'open' ? 'open (the sites know the arms)' : blinding;
}

export function methodRow({ method }: Pick<Design, 'method'>): string[] {
  if (method.name !== 'urn') return ['method', methodText(method)];
  const { D, w, alpha, beta, urnSelection } = method;
  return ['urn', `D=${D} w=${w} alpha=${alpha} beta=${beta} urn_selection=${urnSelection}`];
}

/** Each limit on a row, and whether it stops anybody. */
export function limitRows({
  limits,
  policies: { stopAtLimit },
}: Pick<Design, 'limits' | 'policies'>): string[][] {
  const remark = stopAtLimit ? 'nobody is taken beyond it' : 'information only: nobody is stopped';
  return limitTexts(limits).map((text) => ['limit', `${text} (${remark})`]);
}

/** As in the studies file. */
export function policiesText({ policies }: Pick<Design, 'policies'>): string {
  const { stopAtLimit, levelCounts, voidCounts, forcedCounts } = policies;
  return [
    ...(stopAtLimit ? ['stop_at_limit true'] : []),
    `level_counts ${levelCounts}`,
    `void_counts ${voidCounts}`,
    `forced_counts ${forcedCounts}`,
  ].join(', ');
}
