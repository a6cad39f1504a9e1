/**
 * The report of a bundle, for the screen and for paper: one HTML file without scripts or external resources. In a blinded
 * bundle it names no treatment, not even in the configuration.
 */

import type { Content } from '../../events/content.ts';
import type { StudyConfiguration } from '../../events/study.ts';
import { describeBroken } from '../../projections/code-breaks.ts';
import type { LogIdentity } from '../ledger/identity.ts';
import { escapeHtml as e, htmlTable } from './html.ts';
import { barsPicture, colourOf, enrolmentPicture } from './report-pictures.ts';
import { STYLE } from './report-style.ts';
import {
  type Listed,
  MAX_LISTED,
  type StreamSummary,
  type StudySummary,
  shownInstant,
} from './study-summary.ts';

export interface ReportParts {
  readonly summary: StudySummary;
  readonly content: Content;
  readonly identity: LogIdentity;
  readonly streams: readonly StreamSummary[];
  readonly version: string;
  readonly verifierSha256: string;
}

const CONTENT: Record<Content, string> = {
  full: `<p class="warning"><strong>Unblinding material.</strong> This report names treatments. A full bundle holds the
states of the random generator too, from which later assignments can be computed.</p>`,
  open: `<p class="warning"><strong>Unblinding material.</strong> This report names the treatment of every participant.
An open bundle holds no state of the random generator.</p>`,
  blinded: `<p class="plain"><strong>Blinded.</strong> This report shows nobody's treatment. A blinded bundle
proves participants, levels, times and completeness; its draws cannot be replayed.</p>`,
};

/** Yields the document in pieces. */
export function* reportHtml(parts: ReportParts): Generator<string> {
  const { summary, content } = parts;
  const { configuration } = summary;
  if (!configuration) throw new Error('a study without a registration has no report');
  const isOpen = content !== 'blinded';
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${e(configuration.name)}: randomization report</title>
<style>${STYLE}</style></head><body>
<h1>${e(configuration.name)}</h1>
<p class="lead">Randomization report, as of ${e(shownInstant(summary.lastAt))}, ${summary.participants} participants</p>
${CONTENT[content]}
${study(parts, configuration)}
${configured(configuration, isOpen)}
${enrolment(summary, configuration)}
${isOpen ? balance(summary, configuration) : levelCounts(summary, configuration)}
`;
  yield* events(summary, configuration, isOpen);
  yield `${verification(parts)}
</body></html>
`;
}

function study({ summary, identity }: ReportParts, { mode }: StudyConfiguration): string {
  const seed = summary.seedSource === 'drawn' ? 'drawn from the operating system' : 'configured';
  return `<h2>Study</h2>
${htmlTable(
  [],
  [
    ['Mode', mode],
    ['Registered', e(shownInstant(summary.registeredAt))],
    ['Last event', e(shownInstant(summary.lastAt))],
    ['Participants', String(summary.participants)],
    ...takesNone(summary),
    ...unblinded(summary),
    ['Seed', `${seed}${summary.seedWeak ? ' (weak: below 2<sup>96</sup>, it can be found by search)' : ''}`],
    ...summary.recoveries.map((what) => ['Recovered', e(what)]),
    ['Study id', `<code>${e(summary.studyId)}</code>`],
    ['Log', `${e(identity.logName)} <code>${e(identity.logId)}</code>`],
  ],
  'facts',
)}`;
}

function takesNone({ halt }: StudySummary): string[][] {
  return halt ? [['State', e(`${halt.state} since ${shownInstant(halt.at)}: ${halt.reason}`)]] : [];
}

function unblinded({ revealed, unblindingReported }: StudySummary): string[][] {
  return [
    ...(Object.keys(revealed).length > 0 ? [['Codes broken', e(describeBroken(revealed))]] : []),
    ...(unblindingReported > 0 ? [['Unblinded outside', `${unblindingReported} reported`]] : []),
  ];
}

function configured(configuration: StudyConfiguration, isOpen: boolean): string {
  const { treatments, D, w, alpha, beta, urnSelection, factors, idPattern, targetEnrollment } = configuration;
  return `<h2>Configuration as registered</h2>
${htmlTable(
  [],
  [
    ['Treatments', isOpen ? treatments.map(e).join(', ') : `${treatments.length}, not named in this report`],
    ['Method', "Wei's urn for each factor level; the most imbalanced urn is drawn from, ties by lot"],
    ['Imbalance measure', D],
    ['Urn', `w = ${w}, alpha = ${alpha}, beta = ${beta}, selection ${urnSelection}`],
    ...(targetEnrollment === undefined ? [] : [['Target', String(targetEnrollment)]]),
    ...forItsLife(configuration),
    ...(idPattern === undefined ? [] : [['Participant ids', `<code>${e(idPattern)}</code>`]]),
    ...factors.map(({ name, levels }) => [`Factor ${e(name)}`, levels.map(e).join(' · ')]),
  ],
  'facts',
)}`;
}

/** The settings that concern the life of the study after its registration. */
function forItsLife({ blinding, start, limits, policies, protocol }: StudyConfiguration): string[][] {
  const { total, levels = [] } = limits ?? {};
  const stops = policies?.stopAtLimit ? '' : ' (information only)';
  const { stopAtLimit: _, ...others } = policies ?? {};
  return [
    ['Blinding', blinding ?? 'open: the sites know the arms'],
    ...(start === undefined ? [] : [['Start', 'paused, until it was opened']]),
    ...(total === undefined ? [] : [['Limit', `${total} participants${stops}`]]),
    ...levels.map(({ factor, level, max }) => ['Limit', e(`${max} with ${factor} = ${level}${stops}`)]),
    ...Object.entries(others).map(([name, value]) => ['Policy', `${name}: ${value}`]),
    ...(protocol ? [['Protocol', e([protocol.version, protocol.date].filter(Boolean).join(' of '))]] : []),
  ];
}

function enrolment(summary: StudySummary, { targetEnrollment }: StudyConfiguration): string {
  const since = Date.parse(summary.registeredAt);
  const last = summary.enrolment.at(-1);
  const end = Date.parse(summary.lastAt);
  const points = last ? [...summary.enrolment, { at: end, participants: summary.participants }] : [];
  return `<h2>Enrolment over time</h2>
<figure>${enrolmentPicture(points, since, Math.max(end, since), targetEnrollment)}</figure>
<p class="lead">Times are the service's clock, in UTC.</p>`;
}

function balance({ totals, counts }: StudySummary, { treatments, factors }: StudyConfiguration): string {
  const head = ['', ...treatments.map(e), 'all'];
  const row = (label: string, numbers: readonly number[]) => [label, ...numbers, sum(numbers)];
  const key = treatments
    .map((name, k) => `<span><i style="background:${colourOf(k)}"></i>${e(name)}</span>`)
    .join(' ');
  const sections = factors.map(({ name, levels }, f) => {
    const rows = levels.map((level, l) => ({ level, numbers: counts[f]?.[l] ?? [] }));
    return `<h3>${e(name)}</h3>
<figure>${barsPicture(
      rows.map(({ level, numbers }) => ({ label: level, parts: numbers })),
      `participants by level of ${name} and treatment`,
    )}</figure>
${htmlTable(
  head,
  rows.map(({ level, numbers }) => row(e(level), numbers)),
  'counts',
)}`;
  });
  return `<h2>Balance</h2>
<p class="key">${key}</p>
${htmlTable(head, [row('All participants', totals)], 'counts')}
${sections.join('\n')}`;
}

function levelCounts({ levels: counts }: StudySummary, { factors }: StudyConfiguration): string {
  const sections = factors.map(
    ({ name, levels }, f) => `<h3>${e(name)}</h3>
<figure>${barsPicture(
      levels.map((level, l) => ({ label: level, parts: [counts[f]?.[l] ?? 0] })),
      `participants by level of ${name}`,
    )}</figure>`,
  );
  return `<h2>Participants by level</h2>
${sections.join('\n')}`;
}

function* events(
  { listed, unlisted, unlistedBreaks }: StudySummary,
  { factors }: StudyConfiguration,
  isOpen: boolean,
): Generator<string> {
  const showsRevealed = listed.some(({ participant }) => participant && participant.revealed.size > 0);
  const head = [
    'Revision',
    'Time (UTC)',
    'Participant',
    ...factors.map(({ name }) => e(name)),
    ...(isOpen ? ['Treatment'] : []),
    ...(showsRevealed ? ['Revealed'] : []),
    'By',
  ];
  const columns = head.length - 4;
  yield `<h2>Events</h2>
<table class="events"><thead><tr>${head.map((text) => `<th>${text}</th>`).join('')}</tr></thead>
<tbody>
`;
  for (const event of listed) yield eventRow(event, columns, { isOpen, showsRevealed });
  yield '</tbody></table>\n';
  if (unlisted > 0)
    yield `<p>The first ${MAX_LISTED} participants are listed. ${unlisted} more are in the bundle's records.</p>\n`;
  if (unlistedBreaks > 0)
    yield `<p>The first ${MAX_LISTED} code-breaks are listed. ${unlistedBreaks} more are in the bundle's records.</p>\n`;
}

function eventRow(
  { revision, at, what, by, participant }: Listed,
  columns: number,
  { isOpen, showsRevealed }: { readonly isOpen: boolean; readonly showsRevealed: boolean },
): string {
  const start = `<tr><td class="number">${revision}</td><td>${e(at.replace('T', ' ').slice(0, 19))}</td>`;
  const end = `<td>${e(by)}</td></tr>\n`;
  if (!participant) return `${start}<td colspan="${columns + 1}">${e(what)}</td>${end}`;
  const { id, levels, treatment, revealed } = participant;
  const cells = [
    id,
    ...levels,
    ...(isOpen ? [treatment ?? ''] : []),
    ...(showsRevealed ? [[...revealed].join(', ')] : []),
  ];
  return `${start}${cells.map((text) => `<td>${e(text)}</td>`).join('')}${end}`;
}

function verification({ streams, identity, version, verifierSha256 }: ReportParts): string {
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
