/**
 * The report of a bundle, for the screen and for paper: one HTML file without scripts or external resources. In a blinded
 * bundle it names no treatment, not even in the configuration. The sections below are in the order of the page.
 *
 * It is loaded when the first report is written: its pictures are not needed to start a service.
 */
import type { Content } from '../../../events/record.ts';
import type { Limits, Policies, StudyConfiguration } from '../../../events/study.ts';
import { armColour } from '../../base/charts/series.ts';
import { escapeHtml as e, htmlTable, STYLE } from '../../base/html/page.ts';
import { counted, plural } from '../../base/wording.ts';
import type { LogIdentity } from '../../core/log/identity.ts';
import { type BalanceView, type Tally, urnsDiffer } from '../../core/model/balance.ts';
import {
  type Design,
  type Factor,
  hasRatio,
  limitTexts,
  methodIn,
  methodText,
  protocolText,
  ratioOf,
  visitsText,
} from '../../core/model/design.ts';
import { lifeFacts } from '../../core/model/life.ts';
import type { Model } from '../../core/model/model.ts';
import { currentId, currentLevels, type Participant } from '../../core/model/participants.ts';
import { enrolmentPicture, levelsPicture } from './report-pictures.tsx';
import {
  type Flow,
  MAX_LISTED,
  type ReportEntry,
  type ReportParticipants,
  type StudySummary,
} from './study-summary.ts';
import { sentence, shownInstant } from './texts.ts';

export interface ReportParts {
  readonly summary: StudySummary;
  readonly content: Content;
  readonly identity: LogIdentity;
  readonly streams: readonly StreamSummary[];
  readonly version: string;
  readonly verifierSha256: string;
}

export interface StreamSummary {
  readonly stream: string;
  readonly records: number;
  /** Records of which only the leaf hash is in the bundle. */
  readonly withheld: number;
  /** Base64. */
  readonly root: string;
}

/** Yields the document in pieces. */
export function* reportHtml(parts: ReportParts): Generator<string> {
  const { summary, content } = parts;
  const { configuration, model, people } = summary;
  if (!configuration || !model || !people) throw new Error('a study without a registration has no report');
  const isOpen = content !== 'blinded';
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${e(configuration.name)}: randomization report</title>
<style>${REPORT_STYLE}</style></head><body>
<h1>${e(configuration.name)}</h1>
<p class="lead">Randomization report, as of ${e(shownInstant(summary.lastAt))}, ${counted(summary.participants, 'participant')}</p>
${CONTENT_NOTICE[content]}
${studySection(parts, configuration, model)}
${registeredSection(configuration, isOpen)}
${people.isAmended ? inForceSection(people, isOpen) : ''}
${flowSection(people, isOpen)}
${steeringSection(summary)}
${enrolmentSection(summary, model)}
${isOpen ? balanceSection(people) : levelsSection(people)}
`;
  yield* eventsSection(summary, people, configuration, isOpen);
  yield `${verificationSection(parts)}
</body></html>
`;
}

const CONTENT_NOTICE: Record<Content, string> = {
  full: `<p class="warning"><strong>Unblinding material.</strong> This report names treatments. A full bundle holds the
states of the random generator and the entries of lists too, from which later assignments can be computed.</p>`,
  open: `<p class="warning"><strong>Unblinding material.</strong> This report names the treatment of every participant.
An open bundle holds no state of the random generator, and no entry of a list.</p>`,
  blinded: `<p class="plain"><strong>Blinded.</strong> This report shows nobody's treatment. A blinded bundle
proves participants, levels, times and completeness; its draws cannot be replayed.</p>`,
};

function studySection(
  { summary, identity }: ReportParts,
  configuration: StudyConfiguration,
  model: Model,
): string {
  const { mode } = configuration;
  const isUsed = methodIn(configuration).name !== 'list';
  const drawn = `drawn from the operating system${isUsed ? '' : ', and not used'}`;
  const seed = summary.seedSource === 'drawn' ? drawn : 'configured';
  return `<h2>Study</h2>
${htmlTable(
  [],
  [
    ['Mode', mode],
    ['Registered', e(shownInstant(summary.registeredAt))],
    ['Last event', e(shownInstant(summary.lastAt))],
    ['Participants', String(summary.participants)],
    ...stateRows(summary),
    ...entryRows(model),
    ...packRows(model),
    ...lifeRows(model),
    ['Seed', `${seed}${summary.seedWeak ? ' (weak: below 2<sup>96</sup>, it can be found by search)' : ''}`],
    ...importedRows(summary, model),
    ...summary.recoveries.map((what) => ['Recovered', e(what)]),
    ['Study id', `<code>${e(summary.studyId)}</code>`],
    ['Log', `${e(identity.logName)} <code>${e(identity.logId)}</code>`],
  ],
  'facts',
)}`;
}

function stateRows({ halt }: StudySummary): string[][] {
  return halt ? [['State', e(`${halt.state} since ${shownInstant(halt.at)}: ${halt.reason}`)]] : [];
}

function entryRows({ life: { entries } }: Model): string[][] {
  const { lists, registered, skipped } = entries;
  const on = `${registered} on ${counted(lists, 'list')}`;
  return lists > 0 ? [['Entries of lists', `${on}; skipped: ${skipped}`]] : [];
}

function packRows({ life: { packs } }: Model): string[][] {
  const { lists, registered, replaced, withdrawn, dispensed, corrected } = packs;
  const atVisits = dispensed > 0 ? `; given at visits: ${dispensed}; corrected: ${corrected}` : '';
  const on = `${registered} on ${counted(lists, 'list')}`;
  return lists > 0 ? [['Packs', `${on}; replaced: ${replaced}; withdrawn: ${withdrawn}${atVisits}`]] : [];
}

function lifeRows(model: Model): string[][] {
  const { ofPacks } = model.life.unblindings;
  return lifeFacts(model).facts.map(({ name, label, text }) => {
    const more = name === 'revealed' && ofPacks > 0 ? `; of packs that nobody had: ${ofPacks}` : '';
    return [label.replace(/^./, (first) => first.toUpperCase()), e(`${text}${more}`)];
  });
}

function importedRows({ isContinued }: StudySummary, { registered: { imported } }: Model): string[][] {
  if (!imported) return [];
  const { redrawn, unproven } = imported;
  const rows = [
    'Imported',
    `${counted(redrawn + unproven, 'participant')} of another system: ${redrawn} drawn again, ${unproven} not`,
  ];
  const known =
    'goes on where the other system stopped: whoever has a copy of that system can compute every later arm';
  return isContinued ? [rows, ['Generator', known]] : [rows];
}

function registeredSection(configuration: StudyConfiguration, isOpen: boolean): string {
  const { treatments, factors, idPattern, targetEnrollment } = configuration;
  const { ratio, visits = [] } = configuration;
  return `<h2>Configuration as registered</h2>
${htmlTable(
  [],
  [
    ['Treatments', isOpen ? treatments.map(e).join(', ') : `${treatments.length}, not named in this report`],
    ...(ratio ? [ratioRow(ratio)] : []),
    ...methodRows(methodIn(configuration)),
    ...(targetEnrollment === undefined ? [] : [['Target', String(targetEnrollment)]]),
    ...settingRows(configuration),
    ...idRows(idPattern),
    ...visitRows(visits),
    ...factors.map(({ name, levels }) => [`Factor ${e(name)}`, levels.map(e).join(' · ')]),
  ],
  'facts',
)}`;
}

function methodRows(method: Design['method']): string[][] {
  if (method.name !== 'urn') return [['Method', e(methodText(method))]];
  const { D, w, alpha, beta, urnSelection } = method;
  return [
    ['Method', "Wei's urn for each factor level; the most imbalanced urn is drawn from, ties by lot"],
    ['Imbalance measure', D],
    ['Urn', `w = ${w}, alpha = ${alpha}, beta = ${beta}, selection ${urnSelection}`],
  ];
}

/** The settings that concern the life of the study after its registration. */
function settingRows({ blinding, start, limits, policies, protocol }: StudyConfiguration): string[][] {
  return [
    blindingRow(blinding ?? 'open'),
    ...(start === undefined ? [] : [['Start', 'paused, until it was opened']]),
    ...limitRows(limits, policies),
    ...(protocol ? [['Protocol', e(protocolText(protocol))]] : []),
  ];
}

/** What amendments can change. */
function inForceSection({ design, restarts }: ReportParticipants, isOpen: boolean): string {
  const { amendment, target, blinding, limits, policies, idPattern, factors, protocol } = design;
  const { visits } = design;
  return `<h2>Design in force</h2>
<p class="lead">After the last event, with its defaults. The method is as it was registered.</p>
${htmlTable(
  [],
  [
    ['Amendments', String(amendment)],
    ...(protocol ? [['Protocol', e(protocolText(protocol))]] : []),
    ['Treatments', treatmentsInForce(design, isOpen)],
    ...(hasRatio(design) ? [ratioRow(ratioOf(design))] : []),
    ...urnRows(design.method),
    ...(restarts.length > 0
      ? [
          [
            design.method.name === 'urn' ? 'Urns began anew' : 'Method began anew',
            `with amendment ${restarts.join(', ')}`,
          ],
        ]
      : []),
    ...(target === undefined ? [] : [['Target', String(target)]]),
    blindingRow(blinding),
    ...limitRows(limits, policies),
    ...idRows(idPattern),
    ...visitRows(visits),
    ...factors.map((factor) => [
      `Factor ${e(factor.name)}`,
      `${factor.isRetired ? '<strong>retired</strong>: ' : ''}${levelsInForce(factor)}`,
    ]),
  ],
  'facts',
)}`;
}

function treatmentsInForce(
  { treatments, closedTreatments, stoppedTreatments }: Design,
  isOpen: boolean,
): string {
  const [closed, stopped] = [closedTreatments.length, stoppedTreatments.length];
  const ofThem = closed > 0 ? `, of them ${closed} closed` : '';
  const ofThese = stopped > 0 ? `, of these ${stopped} stopped` : '';
  if (!isOpen) return `${treatments.length}${ofThem}${ofThese}, not named in this report`;
  const remark = (name: string) =>
    stoppedTreatments.includes(name) ? ' (stopped)' : closedTreatments.includes(name) ? ' (closed)' : '';
  return treatments.map((name) => `${e(name)}${remark(name)}`).join(', ');
}

/** What amendments can change of the method. */
function urnRows(method: Design['method']): string[][] {
  if (method.name !== 'urn') return [];
  const { D, w, alpha, beta } = method;
  return [
    ['Imbalance measure', D],
    ['Urn', `w = ${w}, alpha = ${alpha}, beta = ${beta}`],
  ];
}

function levelsInForce({ levels, closed, earlierNames }: Factor): string {
  const shown = levels.map((level) => {
    const earlier = earlierNames.filter(({ now }) => now === level).map(({ name }) => name);
    const remarks = [
      ...(closed.includes(level) ? ['closed'] : []),
      ...(earlier.length > 0 ? [`earlier: ${earlier.join(', ')}`] : []),
    ];
    return remarks.length > 0 ? `${level} (${remarks.join('; ')})` : level;
  });
  return shown.map(e).join(' · ');
}

function ratioRow(ratio: readonly number[]): string[] {
  return ['Ratio', `${ratio.join(':')}, in the order of the treatments`];
}

function blindingRow(blinding: Design['blinding']): string[] {
  return ['Blinding', blinding === 'open' ? 'open: the sites know the arms' : blinding];
}

function limitRows(limits: Limits | undefined, policies: Policies | Design['policies'] = {}): string[][] {
  const { stopAtLimit, ...others } = policies;
  const stops = stopAtLimit ? '' : ' (information only)';
  return [
    ...limitTexts(limits).map((limit) => ['Limit', e(`${limit}${stops}`)]),
    ...Object.entries(others).map(([name, value]) => ['Policy', `${name}: ${value}`]),
  ];
}

function idRows(idPattern: string | undefined): string[][] {
  return idPattern === undefined ? [] : [['Participant ids', `<code>${e(idPattern)}</code>`]];
}

function visitRows(visits: readonly string[]): string[][] {
  return visits.length > 0 ? [['Visits', visitsText(visits)]] : [];
}

/** The numbers of a CONSORT flow diagram: by arm, or in a blinded report of all arms together. */
function flowSection(people: ReportParticipants, isOpen: boolean): string {
  const arms = isOpen ? people.design.treatments : [];
  const all = people.flow();
  const flows = [...arms.map((treatment) => people.flow(treatment)), all];
  const row = (label: string, number: (of: Flow) => number) => [label, ...flows.map(number)];
  const voided = ({ voided: numbers }: Flow) => sum(Object.values(numbers));
  return `<h2>Participants</h2>
${htmlTable(
  ['', ...arms.map(e), 'all'],
  [
    row('Randomized', ({ randomized }) => randomized),
    ...(all.forced > 0 ? [row('Of these forced', ({ forced }) => forced)] : []),
    row('Of these voided', voided),
    ...Object.keys(all.voided).map((cause) =>
      row(`– ${e(cause)}`, ({ voided: numbers }) => numbers[cause] ?? 0),
    ),
    row('Of these unblinded', ({ unblinded }) => unblinded),
  ],
  'counts',
)}
<p class="lead">${all.forced > 0 ? 'Forced: allocated outside the service, and entered by hand. ' : ''}Voided: randomized in error${all.forced > 0 ? ', or entered wrongly' : ''}. Unblinded: the code was broken, or an unblinding was reported.</p>`;
}

/** Nothing if nobody has to be asked. */
function steeringSection({ steering }: StudySummary): string {
  if (steering.length === 0) return '';
  const items = steering.map(({ text, details }) => {
    const list = details.map((one) => `<li>${e(one)}</li>`).join('');
    return `<li>${e(text)}${list && `<ul>${list}</ul>`}</li>`;
  });
  return `<h2>Worth a look</h2>
<p class="lead">Second draws, and amendments that were undone after a few randomizations. Both can be in order, and both can choose an arm: ask why.</p>
<ul>${items.join('\n')}</ul>`;
}

function enrolmentSection(summary: StudySummary, { design: { target }, registered }: Model): string {
  const [first] = summary.enrolment;
  // Imported participants came before the study was registered here.
  const since = Math.min(Date.parse(summary.registeredAt), first?.at ?? Number.POSITIVE_INFINITY);
  const last = summary.enrolment.at(-1);
  const end = Date.parse(summary.lastAt);
  const points = last ? [...summary.enrolment, { at: end, participants: summary.participants }] : [];
  return `<h2>Enrolment over time</h2>
<figure>${enrolmentPicture(points, since, Math.max(end, since), target)}</figure>
<p class="lead">Times are the service's clock, in UTC${registered.imported ? ', and those of imported participants as the other system had them' : ''}.</p>`;
}

function balanceSection(people: ReportParticipants): string {
  const { byArm } = people;
  const { treatments, ratio } = byArm;
  const head = ['', ...treatments.map(e), 'all'];
  const key = treatments
    .map((name, k) => `<span><i style="background:${armColour(k)}"></i>${e(name)}</span>`)
    .join(' ');
  const sections = byArm.factors.map(
    ({ factor, levels }) => `${factorHead(people, byArm, factor)}
<figure>${levelsPicture(levels, `participants by level of ${factor} and treatment`)}</figure>
${htmlTable(
  head,
  levels.map(({ level, counts }) => withSum(e(level), counts)),
  'counts',
)}`,
  );
  return `<h2>Balance</h2>
<p class="lead">Everybody who was randomized, voided or not, at their current levels.</p>
<p class="key">${key}</p>
${htmlTable(head, [withSum('All participants', byArm.totals), ...(ratio ? perSlot(byArm.totals, ratio) : [])], 'counts')}
${sections.join('\n')}
${countedPart(people, byArm, head, withSum)}`;
}

/** What is compared between arms that get different numbers of participants. */
function perSlot(totals: readonly number[], ratio: readonly number[]): (string | number)[][] {
  const shares = totals.map((n, k) => Number((n / (ratio[k] ?? 1)).toFixed(2)));
  return [withSum('Ratio in force', ratio), ['Participants / ratio', ...shares, '']];
}

/** Takes the place of `balanceSection` in a blinded report. */
function levelsSection(people: ReportParticipants): string {
  const { everybody } = people;
  const sections = everybody.factors.map(
    ({ factor, levels }) => `${factorHead(people, everybody, factor)}
<figure>${levelsPicture(levels, `participants by level of ${factor}`)}</figure>`,
  );
  return `<h2>Participants by level</h2>
<p class="lead">Everybody who was randomized, voided or not, at their current levels.</p>
${sections.join('\n')}
${countedPart(people, everybody, ['', 'all'], (label, numbers) => [label, ...numbers])}`;
}

function factorHead({ design }: ReportParticipants, { totals, factors }: BalanceView, name: string): string {
  if (!design.factors.some((one) => one.name === name && one.isRetired)) return `<h3>${e(name)}</h3>`;
  const levels = factors.find(({ factor }) => factor === name)?.levels ?? [];
  const without = sum(totals) - sum(levels.map(({ counts }) => sum(counts)));
  return `<h3>${e(name)} (retired)</h3>
<p class="lead">${counted(without, 'participant')} ${plural(without, 'was', 'were')} randomized after it was retired, and ${plural(without, 'has', 'have')} no level of it.</p>`;
}

/** Nothing while the urns count everybody at their current levels. */
function countedPart(
  { design, restarts }: ReportParticipants,
  view: BalanceView,
  head: readonly string[],
  row: (label: string, numbers: Tally['totals']) => (string | number)[],
): string {
  if (!urnsDiffer(view)) return '';
  const { totals, factors } = view.counted;
  const { ratio } = view;
  const rows = factors.flatMap(({ factor, levels }) =>
    levels.map(({ level, counts }) => row(`${e(factor)}: ${e(level)}`, counts)),
  );
  const restart = restarts.at(-1);
  const [heading, anew, policies] =
    design.method.name === 'urn'
      ? [
          'As the urns count',
          `The urns began anew with amendment ${restart}: they count nobody who was randomized before. `,
          "The study's policies decide whether a correction moves the counts of the urns, which later allocations follow, and whether the urns count allocations that were entered by hand.",
        ]
      : [
          'As counted',
          `The method began anew with amendment ${restart}: nobody who was randomized before is counted. `,
          "The study's policies decide whether a correction moves these counts, and whether allocations that were entered by hand are counted.",
        ];
  return `<h3>${heading}</h3>
<p class="lead">${restart === undefined ? '' : anew}${policies}</p>
${htmlTable(head, [row('All that are counted', totals), ...(ratio ? perSlot(totals, ratio) : []), ...rows], 'counts')}`;
}

function withSum(label: string, numbers: readonly number[]): (string | number)[] {
  return [label, ...numbers, sum(numbers)];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function* eventsSection(
  { listed, unlisted, limited }: StudySummary,
  people: ReportParticipants,
  { factors }: StudyConfiguration,
  isOpen: boolean,
): Generator<string> {
  const shown = listed.flatMap(({ enrolled = '' }) => people.get(enrolled) ?? []);
  const columns = remarkColumns(people, factors).filter(({ cell }) => shown.some((one) => cell(one) !== ''));
  const head = [
    'Revision',
    'Time (UTC)',
    'Participant',
    ...factors.map(({ name }) => e(name)),
    ...(isOpen ? ['Treatment'] : []),
    ...columns.map((column) => column.head),
    'By',
  ];
  const cellsOf = (participant: Participant) => [
    currentId(participant),
    ...currentLevels(participant),
    ...(isOpen ? [participant.treatment] : []),
    ...columns.map(({ cell }) => cell(participant)),
  ];
  yield `<h2>Events</h2>
<p class="lead">Participants are shown as they are now${people.isAmended ? ', with the names that levels have now' : ''}. Each correction has its own line${people.flow().forced > 0 ? ', and so has each entry that was replaced' : ''}.</p>
<table class="events" style="--columns:${head.length}"><thead><tr>${head.map((text) => `<th>${text}</th>`).join('')}</tr></thead>
<tbody>
`;
  for (const event of listed) {
    const participant = people.get(event.enrolled ?? '');
    yield eventRow(event, head.length - 3, participant && cellsOf(participant));
  }
  yield '</tbody></table>\n';
  const numbers = Object.entries({ participants: MAX_LISTED + unlisted, ...limited });
  for (const [what, left] of numbers.map(([what, number]) => [what, number - MAX_LISTED] as const))
    if (left > 0)
      yield `<p>The first ${MAX_LISTED} ${what} are listed. ${left} more are in the bundle's records.</p>\n`;
}

/** What there may be to say of a participant. A column without an entry is left out. */
function remarkColumns(people: ReportParticipants, factors: StudyConfiguration['factors']) {
  const voided = ({ corrected }: Participant) =>
    corrected?.voided ? people.whyVoided(corrected.voided) : '';
  const corrected = (participant: Participant) => {
    const { participantId, levels } = participant;
    const now = currentLevels(participant);
    return [
      ...(currentId(participant) === participantId ? [] : [`id was ${participantId}`]),
      ...levels.flatMap((level, i) => (level === now[i] ? [] : [`${factors[i]?.name ?? ''} was ${level}`])),
    ].join(', ');
  };
  const forced = ({ forced: entered, occurredAt }: Participant) =>
    entered && occurredAt !== undefined
      ? sentence(`${entered.cause}, ${shownInstant(occurredAt)}`, !entered.isCounted && 'not counted')
      : '';
  return [
    { head: 'Pack', cell: ({ pack }: Participant) => pack?.code ?? '' },
    { head: 'Forced', cell: forced },
    { head: 'Voided', cell: voided },
    { head: 'Corrected', cell: corrected },
    { head: 'Revealed', cell: ({ unblinded = [] }: Participant) => unblinded.join(', ') },
  ];
}

/** @param width the number of columns between time and actor, which one text fills without cells */
function eventRow(
  { revision, at, what, by }: ReportEntry,
  width: number,
  cells: readonly string[] | undefined,
): string {
  const start = `<tr><td class="number">${revision}</td><td>${e(at.replace('T', ' ').slice(0, 19))}</td>`;
  const end = `<td>${e(by)}</td></tr>\n`;
  if (!cells) return `${start}<td colspan="${width}">${e(what)}</td>${end}`;
  return `${start}${cells.map((text) => `<td>${e(text)}</td>`).join('')}${end}`;
}

function verificationSection({ streams, identity, version, verifierSha256 }: ReportParts): string {
  return `<h2>Verification</h2>
<p>This report proves nothing by itself: it was made by the software that it reports on. A bundle of the study (urn
bundle) can be verified without that software:</p>
<p><code>python3 verify_bundle.py BUNDLE.zip --trust KEY --checkpoint FILE</code></p>
<p>KEY and FILE are the log's public key and checkpoints, both from elsewhere. Get the verifier from elsewhere too; the
one in this release has the SHA-256 <code>${verifierSha256}</code>.</p>
${htmlTable(
  ['Stream', 'Records', 'Root of its Merkle tree (RFC 6962)'],
  streams.map(({ stream, records, root }) => [
    `<code>${e(stream)}</code>`,
    records,
    `<code>${e(root)}</code>`,
  ]),
)}
${htmlTable(
  [],
  [
    ['Public key', `<code>${e(identity.signingKey.publicKey)}</code>`],
    ['Software', `urn ${e(version)}`],
  ],
  'facts',
)}`;
}

const REPORT_STYLE = `${STYLE}
table.counts { width: auto; min-width: 60%; }
table.counts th:not(:first-child) { text-align: right; }
table.events, table.events th { font-size: 8pt; }
table.events th, table.events td { padding: 0.9mm 1.2mm; }
/* Words are not broken while there is room. */
table.events td { min-width: min(18mm, calc(180mm / var(--columns) - 2.5mm)); }
table.events td:nth-child(2) { min-width: 19mm; }
table.events td:last-child { min-width: 21mm; }
table.events td.number { min-width: 0; }
.key span { margin-right: 5mm; white-space: nowrap; }
.key i { display: inline-block; width: 3.2mm; height: 3.2mm; margin-right: 1.2mm; vertical-align: -0.4mm; }
`;
