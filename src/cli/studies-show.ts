/** urn studies show: a study as it is, or as it was at a revision or instant. */

import type { Command } from 'commander';
import { type BalanceView, type Tally, urnsDiffer } from '../core/model/balance.ts';
import { type Design, type Factor, hasRatio, ratioOf, ratioText, visitsText } from '../core/model/design.ts';
import { describeRecovery } from '../core/model/model.ts';
import { designInForce } from '../core/study/public-design.ts';
import { standingInLog } from '../core/study/studies.ts';
import type { EntryNumbers, PackNumbers } from '../core/study/tally.ts';
import { type CodeBreak, codeBreakNumbers, describeNumbers } from '../core/study/tally.ts';
import {
  DAY_FORM,
  type Moment,
  parseDay,
  parseRevision,
  REVISION_FORM,
} from '../evidence/history/history.ts';
import { decisionRows } from './approvals.ts';
import { blindingText, limitRows, methodRow, policiesText } from './design-text.ts';
import { recordDisclosure } from './disclosed.ts';
import {
  jsonOption,
  type LogOptions,
  logCommand,
  namedStudy,
  option,
  UsageError,
  unknownStudy,
} from './options.ts';
import { result, table } from './output.ts';
import {
  enrolledText,
  studiesOption,
  summary,
  suspendAsServed,
  whyClosed,
  withStudies,
} from './studies-log.ts';
import { showSealed } from './studies-show-sealed.ts';
import { past, present, type StudyAtMoment } from './study-at-moment.ts';

interface ShowOptions extends LogOptions {
  json?: boolean;
  studies?: string;
  revision?: string;
  at?: string;
  sealed?: boolean;
}

export function showCommand(): Command {
  return logCommand('show')
    .argument('<name>', 'name of a study')
    .description(
      'show configuration, state and balance of a study; the balance shows totals by arm, so it is not for blinded readers, and showing it is recorded',
    )
    .addOption(option('--revision <n>', 'as it was at this revision').conflicts('at'))
    .addOption(
      option(
        '--at <instant>',
        'as it was at the end of this day, or at this instant in UTC (2027-06-30 or 2027-06-30T12:00:00Z): up to the first later event',
      ),
    )
    .addOption(
      option(
        '--sealed',
        "instead, for the statistician's sealed file: the seed, and what of the method nobody at a site may know; showing it is recorded",
      ).conflicts(['revision', 'at']),
    )
    .addOption(studiesOption())
    .addOption(jsonOption())
    .action(show);
}

async function show(name: string, options: ShowOptions): Promise<void> {
  const moment = momentOf(options);
  await withStudies(options, async (log) => {
    const now = namedStudy(log.studies, name);
    if (options.sealed) {
      await showSealed(log, now, options.json === true);
      return;
    }
    await suspendAsServed(log, options.studies);
    const shown = moment ? await past(log, now, moment) : present(log, now);
    const { study, counts } = shown;
    if (!counts) throw unknownStudy(name);
    await recordDisclosure(log, { what: 'balance', study: name, toRevision: study.revision });
    const standing = moment ? standingInLog(study.registered.halt) : log.studies.standing(study.stream);
    const view: View = {
      ...shown,
      counts,
      overview: { ...summary(log, study, shown.heads), ...standing },
      lastRevision: moment && now.revision,
      verifierKey: log.identity.signingKey.publicKey,
      firstCheckpoint: log.ledger.maySign(study.stream)
        ? log.ledger.checkpoint(study.stream, 1).note
        : undefined,
    };
    result(options.json ? JSON.stringify(asJson(view), null, 2) : asText(view));
  });
}

interface View extends StudyAtMoment {
  readonly counts: BalanceView;
  readonly overview: ReturnType<typeof summary>;
  /** The current revision of the study, if an earlier moment is shown. */
  readonly lastRevision: number | undefined;
  readonly verifierKey: string;
  readonly firstCheckpoint: string | undefined;
}

function asJson(view: View) {
  const {
    study,
    counts,
    breaks,
    voided,
    limits,
    packs,
    entries,
    at,
    nextAt,
    overview,
    lastRevision,
    verifierKey,
    firstCheckpoint,
  } = view;
  const { studyId, registeredAt, seedSource, seedWeak, recoveries, halt, configuration, imported } =
    study.registered;
  return {
    ...overview,
    asOf: lastRevision === undefined ? undefined : { revision: study.revision, at, nextAt, lastRevision },
    ...{ studyId, registeredAt, seedSource, seedWeak, recoveries, halt, imported },
    // As registered, and as it is in force.
    ...{ configuration, limits, design: designInForce(study.design) },
    ...codeBreakNumbers(breaks),
    ...(packs && { packs }),
    ...(entries && { entries }),
    ...(Object.keys(voided).length > 0 && { voided }),
    ...{ balance: counts, firstCheckpoint, verifierKey },
  };
}

function asText(view: View): string {
  const { study, counts, firstCheckpoint } = view;
  const { counted, voided, ratio } = counts;
  const divided = ratio ? ' (in brackets: divided by its number in the ratio)' : '';
  const parts = [
    table(facts(view)),
    `participants by treatment${divided}\n${balanceTable(study.design, counts, ratio, voided)}`,
  ];
  if (urnsDiffer(counts)) {
    const { epoch, method } = study.design;
    const [as, they] =
      method.name === 'urn' ? ['as the urns count them', 'they'] : ['as counted', 'the method'];
    const why = epoch > 0 ? `since ${they} began anew` : 'after corrections';
    parts.push(`${as}, ${why}${divided}\n${balanceTable(study.design, counted, ratio)}`);
  }
  if (firstCheckpoint !== undefined)
    parts.push(
      `first checkpoint (archive it outside this machine: it proves the configuration that was registered)\n\n${firstCheckpoint}`,
    );
  return parts.join('\n\n');
}

/**
 * @param ratio the number of each treatment, if there is one
 * @param voided of the participants in the tally
 */
function balanceTable(
  { treatments, closedTreatments, factors }: Design,
  tally: Tally,
  ratio: readonly number[] | undefined,
  voided: readonly number[] = [],
): string {
  const isClosed = (factor: string, level: string) =>
    factors.some(({ name, closed }) => name === factor && closed.includes(level));
  const isRetired = (factor: string) => factors.some((one) => one.name === factor && one.isRetired);
  const divided = (n: number, k: number) =>
    ratio ? `${n} (${(n / (ratio[k] ?? 1)).toFixed(1)})` : String(n);
  const rows = tally.factors.flatMap(({ factor, levels }) =>
    levels.map(({ level, counts: n }) => [
      `${factor} = ${level}${isRetired(factor) ? ' (retired)' : isClosed(factor, level) ? ' (closed)' : ''}`,
      ...n.map(divided),
    ]),
  );
  return table([
    ['', ...treatments.map((name) => (closedTreatments.includes(name) ? `${name} (closed)` : name))],
    ['all', ...tally.totals.map(divided)],
    ...(voided.some((n) => n > 0) ? [['of these voided', ...voided.map(String)]] : []),
    ...rows,
  ]);
}

function brokenCodeFacts(breaks: readonly CodeBreak[]): string[][] {
  const { revealed, unblindingReported } = codeBreakNumbers(breaks);
  return [
    ...(revealed ? [['codes broken', describeNumbers(revealed)]] : []),
    ...(unblindingReported === undefined ? [] : [['unblinded outside', `${unblindingReported} reported`]]),
  ];
}

function facts({
  study,
  designsUntil,
  breaks,
  voided,
  packs,
  entries,
  at,
  nextAt,
  overview,
  lastRevision,
  verifierKey,
}: View): string[][] {
  const { registeredAt, seedSource, seedWeak, recoveries, studyId, imported } = study.registered;
  const { method, name } = study.design;
  const seed =
    seedSource === 'drawn'
      ? `drawn from the operating system${method.name === 'list' ? ', and not used' : ''}`
      : `configured${seedWeak ? ' (WEAK: below 2^96)' : ''}`;
  const later = (lastRevision ?? study.revision) - study.revision;
  return [
    ['study', name],
    ...(lastRevision === undefined ? [] : [['as of', `revision ${study.revision}, of ${at}`]]),
    // This reveals a clock that ran ahead.
    ...(nextAt === undefined ? [] : [['not shown', `${later} later events, the first of ${nextAt}`]]),
    ['mode', overview.mode],
    ['state', whyClosed(overview) ?? overview.state],
    ['participants', enrolledText(overview)],
    ...(Object.keys(voided).length > 0 ? [['voided', describeNumbers(voided)]] : []),
    ...(imported ? [['imported', `${imported.redrawn} redrawn, ${imported.unproven} unproven`]] : []),
    ...brokenCodeFacts(breaks),
    ...(packs ? [['packs', packsText(packs)]] : []),
    ...(entries ? [['entries', entriesText(entries)]] : []),
    ['registered', registeredAt],
    ['study id', studyId],
    ['revision', String(study.revision)],
    ['verifier key', verifierKey],
    ['seed', seed],
    ...recoveries.map((one) => ['recovered', describeRecovery(one)]),
    ...designFacts(study.design),
    ...urnFacts(designsUntil),
  ];
}

function entriesText({ lists, used, left, skipOwed }: EntryNumbers): string {
  const waits = skipOwed ? '; nobody is randomized until urn lists skip' : '';
  return lists === 0
    ? `none (urn lists add)${waits}`
    : `${used} used, ${left} left (urn lists status)${waits}`;
}

function packsText({
  registered,
  given,
  replaced,
  withdrawn,
  dispensed = 0,
  corrected = 0,
}: PackNumbers): string {
  const atVisits = dispensed > 0 ? `, ${dispensed} given at visits (${corrected} corrected)` : '';
  return `${registered} registered, ${given} given, ${replaced} replaced, ${withdrawn} withdrawn${atVisits}`;
}

function designFacts(inForce: Design): string[][] {
  const { amendment, idPattern, protocol, visits } = inForce;
  return [
    ...(amendment === 0 ? [] : [['amendments', String(amendment)]]),
    ['blinding', blindingText(inForce)],
    methodRow(inForce),
    ...(hasRatio(inForce) ? [['ratio', ratioText(inForce.treatments, ratioOf(inForce))]] : []),
    ...(idPattern === undefined ? [] : [['id pattern', idPattern]]),
    ...limitRows(inForce),
    ['policies', policiesText(inForce)],
    ...decisionRows({ approvals: [], protocol }),
    ...(visits.length > 0 ? [['visits', visitsText(visits)]] : []),
    ...inForce.factors.flatMap(renamedFacts),
    ...inForce.closedTreatments.map((name) => ['closed arm', name]),
    ...inForce.stoppedTreatments.map((name) => ['stopped arm', name]),
    ...inForce.factors.filter(({ isRetired }) => isRetired).map(({ name }) => ['retired factor', name]),
  ];
}

/** When the urns, or another method, began anew. */
function urnFacts(all: readonly Design[]): string[][] {
  const restarts = all.filter(({ epoch }, i) => epoch > (all[i - 1]?.epoch ?? 0));
  return restarts.map(({ amendment, epochBegan, method }) => [
    method.name === 'urn' ? 'urns' : 'method',
    `began anew at amendment ${amendment} (revision ${epochBegan})`,
  ]);
}

/** Records keep the old names of levels. */
function renamedFacts({ name, earlierNames }: Factor): string[][] {
  return earlierNames.map((earlier) => ['renamed', `${name} = ${earlier.now}, once ${earlier.name}`]);
}

/** @throws UsageError */
function momentOf({ revision, at }: ShowOptions): Moment | undefined {
  if (revision !== undefined) {
    const wanted = parseRevision(revision);
    if (wanted === undefined) throw new UsageError(`--revision "${revision}" is not ${REVISION_FORM}`);
    return { type: 'revision', revision: wanted };
  }
  if (at === undefined) return undefined;
  const instant = parseDay(at, 'last');
  if (instant === undefined) throw new UsageError(`--at "${at}" is not ${DAY_FORM}`);
  return { type: 'instant', at: instant };
}
