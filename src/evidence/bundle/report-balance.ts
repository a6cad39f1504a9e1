/** The part of a report that counts participants: a flow diagram's numbers, and the balance of the arms. */

import { armColour } from '../../base/charts/series.ts';
import { escapeHtml as e, htmlTable } from '../../base/html/page.ts';
import { counted, plural } from '../../base/wording.ts';
import { type BalanceView, type Tally, urnsDiffer } from '../../core/model/balance.ts';
import type { Flow, ReportParticipants } from './report-participants.ts';
import { levelsPicture } from './report-pictures.tsx';

/** The numbers of a CONSORT flow diagram: by arm, or in a blinded report of all arms together. */
export function flow(people: ReportParticipants, isOpen: boolean): string {
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

export function balance(people: ReportParticipants): string {
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
${inTheUrns(people, byArm, head, withSum)}`;
}

/** What is compared between arms that get different numbers of participants. */
function perSlot(totals: readonly number[], ratio: readonly number[]): (string | number)[][] {
  const shares = totals.map((n, k) => Number((n / (ratio[k] ?? 1)).toFixed(2)));
  return [withSum('Ratio in force', ratio), ['Participants / ratio', ...shares, '']];
}

function factorHead({ design }: ReportParticipants, { totals, factors }: BalanceView, name: string): string {
  if (!design.factors.some((one) => one.name === name && one.isRetired)) return `<h3>${e(name)}</h3>`;
  const levels = factors.find(({ factor }) => factor === name)?.levels ?? [];
  const without = sum(totals) - sum(levels.map(({ counts }) => sum(counts)));
  return `<h3>${e(name)} (retired)</h3>
<p class="lead">${counted(without, 'participant')} ${plural(without, 'was', 'were')} randomized after it was retired, and ${plural(without, 'has', 'have')} no level of it.</p>`;
}

/** Takes the place of `balance` in a blinded report. */
export function levelCounts(people: ReportParticipants): string {
  const { everybody } = people;
  const sections = everybody.factors.map(
    ({ factor, levels }) => `${factorHead(people, everybody, factor)}
<figure>${levelsPicture(levels, `participants by level of ${factor}`)}</figure>`,
  );
  return `<h2>Participants by level</h2>
<p class="lead">Everybody who was randomized, voided or not, at their current levels.</p>
${sections.join('\n')}
${inTheUrns(people, everybody, ['', 'all'], (label, numbers) => [label, ...numbers])}`;
}

/** Nothing while the urns count everybody at their current levels. */
function inTheUrns(
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
