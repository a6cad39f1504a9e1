/**
 * urn studies show: a study as it is, or as it was at a revision or instant, in words or as JSON. It shows the balance of the
 * arms, so showing it is recorded. With --sealed, at the end of this file, it shows instead what nobody at a site may know.
 */
import type { Command } from 'commander';
import { toJson } from '../base/json.ts';
import { type BalanceView, type Tally, urnsDiffer } from '../core/model/balance.ts';
import {
  type Design,
  type Factor,
  hasRatio,
  methodText,
  ratioOf,
  ratioText,
  visitsText,
} from '../core/model/design.ts';
import {
  describeNumbers,
  type EntryNumbers,
  entryNumbers,
  lifeFacts,
  packCounts,
  packsText,
} from '../core/model/life.ts';
import { describeRecovery, type Model } from '../core/model/model.ts';
import { headCount, voidedByCause } from '../core/model/participants.ts';
import { studyState } from '../core/study/fold.ts';
import { designInForce, FilledLevels, limitsInForce, methodParameters } from '../core/study/public-design.ts';
import { recruitmentInLog, type Study } from '../core/study/studies.ts';
import {
  DAY_FORM,
  foldUntil,
  isBeyond,
  type Moment,
  parseDay,
  parseRevision,
  REVISION_FORM,
} from '../evidence/history/history.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { decisionRows } from './approvals.ts';
import { blindingText, limitRows, methodRow, policiesText } from './design-text.ts';
import { strataOf } from './lists.ts';
import {
  enrolledText,
  namedStudy,
  registeredState,
  studiesOption,
  summary,
  suspendAsServed,
  whyClosed,
  withStudies,
} from './named-studies.ts';
import { recordDisclosure } from './open-log.ts';
import { jsonOption, type LogOptions, logCommand, option, UsageError, unknownStudy } from './options.ts';
import { note, result, table } from './output.ts';

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
    const shown = moment
      ? await studyAt(log, now, moment)
      : {
          study: now,
          model: registeredState(log, now),
          at: log.runner.lastAt(now.stream),
          nextAt: undefined,
        };
    const { study, model } = shown;
    const counts = model.shown?.balance.view();
    if (!counts) throw unknownStudy(name);
    await recordDisclosure(log, { what: 'balance', study: name, toRevision: study.revision });
    const recruitment = moment
      ? recruitmentInLog(study.registered.halt)
      : log.studies.recruitment(study.stream);
    const view: ShownStudy = {
      ...shown,
      counts,
      overview: { ...summary(log, study, headCount(model.participants.inOrder)), ...recruitment },
      lastRevision: moment && now.revision,
      verifierKey: log.identity.signingKey.publicKey,
      firstCheckpoint: log.ledger.maySign(study.stream)
        ? log.ledger.checkpoint(study.stream, 1).note
        : undefined,
    };
    result(options.json ? JSON.stringify(shownJson(view), null, 2) : shownText(view));
  });
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

/** What is shown of a study: as it is, or as it was. */
interface StudyAtMoment {
  readonly study: Study;
  readonly model: Model;
  /** The time of the last event that is shown. */
  readonly at: string | undefined;
  /** The time of the first event that is not. */
  readonly nextAt: string | undefined;
}

/** @throws UsageError for a moment before the study was registered, or a revision it has not reached */
async function studyAt({ store, identity }: OpenLog, study: Study, moment: Moment): Promise<StudyAtMoment> {
  const { stream, revision: last } = study;
  const { registeredAt } = study.registered;
  if (moment.type === 'revision' && moment.revision > last)
    throw new UsageError(`--revision ${moment.revision} is beyond the study, which is at revision ${last}`);
  if (moment.type === 'instant' && moment.at < registeredAt)
    throw new UsageError(`--at ${moment.at} is before the study, which was registered at ${registeredAt}`);
  const { states, revision, at, next } = await foldUntil(
    { store, logId: identity.logId },
    stream,
    { model: studyState },
    isBeyond(moment),
  );
  const { model } = states;
  if (model.status === 'unregistered') throw unknownStudy(study.design.name);
  const { registered, design } = model;
  return { study: { stream, revision, registered, design }, model, at, nextAt: next?.at };
}

interface ShownStudy extends StudyAtMoment {
  readonly counts: BalanceView;
  readonly overview: ReturnType<typeof summary>;
  /** The current revision of the study, if an earlier moment is shown. */
  readonly lastRevision: number | undefined;
  readonly verifierKey: string;
  readonly firstCheckpoint: string | undefined;
}

function shownJson(view: ShownStudy) {
  const { study, model, counts, at, nextAt, overview, lastRevision, verifierKey, firstCheckpoint } = view;
  const { inOrder } = model.participants;
  const limits = limitsInForce(study.design, new FilledLevels(study.design, inOrder));
  const voided = voidedByCause(inOrder);
  const packs = packNumbers(model);
  const entries = entryNumbers(model);
  const { studyId, registeredAt, seedSource, seedWeak, recoveries, halt, configuration, imported } =
    study.registered;
  return {
    ...overview,
    asOf: lastRevision === undefined ? undefined : { revision: study.revision, at, nextAt, lastRevision },
    ...{ studyId, registeredAt, seedSource, seedWeak, recoveries, halt, imported },
    // As registered, and as it is in force.
    ...{ configuration, limits, design: designInForce(study.design) },
    ...lifeFacts(model).counts,
    ...(packs && { packs }),
    ...(entries && { entries }),
    ...(Object.keys(voided).length > 0 && { voided }),
    ...{ balance: counts, firstCheckpoint, verifierKey },
  };
}

function shownText(view: ShownStudy): string {
  const { study, counts, firstCheckpoint } = view;
  const { counted, voided, ratio } = counts;
  const divided = ratio ? ' (in brackets: divided by its number in the ratio)' : '';
  const parts = [
    table(studyFacts(view)),
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

function studyFacts(view: ShownStudy): string[][] {
  const { study, model, at, nextAt, overview, lastRevision, verifierKey } = view;
  const { registeredAt, seedSource, seedWeak, recoveries, studyId, imported } = study.registered;
  const { method, name } = study.design;
  const seed =
    seedSource === 'drawn'
      ? `drawn from the operating system${method.name === 'list' ? ', and not used' : ''}`
      : `configured${seedWeak ? ' (WEAK: below 2^96)' : ''}`;
  const voided = voidedByCause(model.participants.inOrder);
  const packs = packNumbers(model);
  const entries = entryNumbers(model);
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
    ...lifeFacts(model).facts.map(({ label, text }) => [label, text]),
    ...(packs ? [['packs', packsText(packs, packs.given)]] : []),
    ...(entries ? [['entries', entriesText(entries)]] : []),
    ['registered', registeredAt],
    ['study id', studyId],
    ['revision', String(study.revision)],
    ['verifier key', verifierKey],
    ['seed', seed],
    ...recoveries.map((one) => ['recovered', describeRecovery(one)]),
    ...designFacts(study.design),
    ...restartFacts(model.designs),
  ];
}

/** Of them all, how many were given to somebody, too. Undefined in a study without packs. */
function packNumbers(model: Model) {
  const packs = packCounts(model);
  if (!packs) return undefined;
  const { registered, ...others } = packs;
  return { registered, given: [...model.given.entries()].length, ...others };
}

function entriesText({ lists, used, left, skipOwed }: EntryNumbers): string {
  const waits = skipOwed ? '; nobody is randomized until urn lists skip' : '';
  return lists === 0
    ? `none (urn lists add)${waits}`
    : `${used} used, ${left} left (urn lists status)${waits}`;
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

/** Records keep the old names of levels. */
function renamedFacts({ name, earlierNames }: Factor): string[][] {
  return earlierNames.map((earlier) => ['renamed', `${name} = ${earlier.now}, once ${earlier.name}`]);
}

/** When the urns, or another method, began anew. */
function restartFacts(all: readonly Design[]): string[][] {
  const restarts = all.filter(({ epoch }, i) => epoch > (all[i - 1]?.epoch ?? 0));
  return restarts.map(({ amendment, epochBegan, method }) => [
    method.name === 'urn' ? 'urns' : 'method',
    `began anew at amendment ${amendment} (revision ${epochBegan})`,
  ]);
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

/** What nobody at a site may know, for the statistician's sealed file. */
async function showSealed(log: OpenLog, study: Study, isJson: boolean): Promise<void> {
  const { design, registered } = study;
  const { parameters, seed, seedSource, recoveries, studyId } = registered;
  await recordDisclosure(log, { what: 'seed', study: design.name });
  const of = methodParameters(design, parameters);
  const listed = sealedEntries(registeredState(log, study));
  if (isJson) {
    const method =
      'by' in design.method
        ? { method: design.method.name, by: design.method.by }
        : { method: design.method.name };
    const shown = {
      study: design.name,
      study_id: studyId,
      ...method,
      method_parameters: of,
      ...(listed.length > 0 && { entries: listed.map(({ text: _, ...entry }) => entry) }),
      starting_seed: BigInt(seed),
      seed_source: seedSource,
    };
    result(toJson(shown));
    return;
  }
  const isUsed = design.method.name !== 'list';
  result(
    table([
      ['study', design.name],
      ['study id', studyId],
      ['method', methodText(design.method)],
      ...Object.entries(of ?? {}).map(([name, value]) => [name, parameterText(value)]),
      ['starting seed', `${seed} (${seedSource}${isUsed ? '' : ', and not used'})`],
      ...recoveries.map((one) => ['recovered', describeRecovery(one)]),
    ]),
  );
  if (listed.length > 0)
    result(
      `\n${table([
        ['list', 'entry', 'stratum', 'treatment', ''],
        ...listed.map(({ list, entry, text, treatment, used }) => [
          ...[String(list), String(entry), text, treatment],
          used ? 'used' : '',
        ]),
      ])}`,
    );
  note('whoever knows this can work out every allocation in advance: keep it where no site can read it');
}

/** The entries that are not void, as they stand on their lists. */
function sealedEntries(state: Model) {
  const { slots } = state.design;
  return strataOf(state)
    .flatMap(({ name, levels, text, used }) =>
      (state.entries.strata.get(name)?.entries ?? []).map(({ list, entry, slot }, i) => {
        return { list, entry, levels, text, treatment: slots[slot] ?? '', used: i < used };
      }),
    )
    .sort((a, b) => a.list - b.list || a.entry - b.entry);
}

function parameterText(
  value: number | string | undefined | readonly number[] | ReadonlyMap<string, number>,
): string {
  if (value instanceof Map) return [...value].map(([factor, weight]) => `${factor} ${weight}`).join(', ');
  return Array.isArray(value) ? value.join(', ') : String(value);
}
