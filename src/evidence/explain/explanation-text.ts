/** An explanation as text for readers who know clinical trials, with the steps and terms of docs/methods.md. */
import type { Level } from '../../../events/study.ts';
import { onOneLine } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import { indexAt } from '../../core/methods/draw.ts';
import type { Explanation, ListExplanation, PickExplanation, UrnExplanation } from './explanation.ts';

type DrawnExplanation = UrnExplanation | PickExplanation;

/** Each double is written with just enough digits to distinguish it from every other double. */
export function explanationText(explanation: Explanation): string {
  const { study, at, user, on_behalf_of, revision, code } = explanation;
  const who = on_behalf_of === undefined ? user : `${user}, on behalf of ${on_behalf_of}`;
  const pack = code === undefined ? '' : ` The pack was ${code}, which no random number chose.`;
  const counts = 'urns' in explanation ? `; ${countedBefore(explanation)}` : '';
  const lines = [
    title(explanation),
    `Study ${study}. Randomized ${at} by ${who}, as revision ${revision} of the study${counts}.${pack}`,
    ...('entry' in explanation ? entryStep(explanation) : drawnSteps(explanation)),
    ...section('Compared with the record', comparison(explanation)),
  ];
  return lines.map((line) => onOneLine(line).trimEnd()).join('\n');
}

function countedBefore({ earlier_participants, epoch_began }: UrnExplanation): string {
  const since = epoch_began === undefined ? '' : `, since the urns began anew at revision ${epoch_began}`;
  return `${counted(earlier_participants, 'participant')} counted before${since}`;
}

function drawnSteps(explanation: DrawnExplanation): string[] {
  return [
    ...('urns' in explanation ? urnSteps(explanation) : pickSteps(explanation)),
    ...section("The generator (numpy's PCG64) before and after", generator(explanation)),
  ];
}

function entryStep({ entry: { list, entry, stratum }, trt }: ListExplanation): string[] {
  const of = stratum.length === 0 ? 'the whole study' : stratumText(stratum);
  return section('1. Entry of the list', [
    `Entry ${entry} of list ${list}: the first unused of ${of}; nothing was drawn.`,
    '',
    `Treatment: ${trt}`,
  ]);
}

function stratumText(stratum: readonly Level[]): string {
  return stratum.map(({ factor, level }) => `${factor} = ${level}`).join(', ');
}

function urnSteps(explanation: UrnExplanation): string[] {
  const balls = explanation.urns.find(({ selected }) => selected)?.balls ?? [];
  return [
    ...section('1. Urns: one for the level that this participant has of each factor', urns(explanation)),
    ...section(
      `2. Imbalance d of each urn, by the study's measure (${explanation.D})`,
      imbalances(explanation),
    ),
    ...section('3. Candidates: the urns with exactly the largest imbalance', candidates(explanation)),
    ...section('4. Lot', lot(explanation)),
    ...section(
      `5. Draw of a ball from the urn of ${selectedUrn(explanation)}`,
      draw(explanation, 'balls', balls),
    ),
  ];
}

function pickSteps(explanation: PickExplanation): string[] {
  const { block, minimization, weights, closed_treatments: closed } = explanation;
  const left = closed ? [`Closed arms are left out: ${closed.join(', ')}.`] : [];
  if (minimization)
    return [
      ...section(`1. Counts of earlier participants with this participant's levels`, [
        ...left,
        ...countLines(explanation, minimization),
      ]),
      ...section(
        `2. Scores, by ${minimization.measure}: the least is the best`,
        scoreLines(explanation, minimization),
      ),
      ...section('3. Draw', draw(explanation, 'weight', weights)),
    ];
  if (!block)
    return section('1. Draw: every slot is equally likely, whoever came before', [
      ...left,
      ...draw(explanation, 'weight', weights),
    ]);
  return [
    ...section('1. Block', [...blockLines(block), ...left]),
    ...section('2. Draw of one of the places that were left', draw(explanation, 'left', weights)),
  ];
}

type Minimized = NonNullable<PickExplanation['minimization']>;

function countLines(explanation: PickExplanation, { levels }: Minimized): string[] {
  const weighs = levels.some(({ weight }) => weight > 1);
  const rows = levels.map(({ factor, level, weight, counts }) => [
    `${factor} = ${level}`,
    ...(weighs ? [String(weight)] : []),
    ...counts.map(String),
  ]);
  return columns([['', ...(weighs ? ['weight'] : []), ...slotNames(explanation)], ...rows], ['left']);
}

function scoreLines(explanation: PickExplanation, { measure, p, scores, best }: Minimized): string[] {
  const named = slotNames(explanation);
  const least = Math.min(...scores);
  const of =
    measure === 'range'
      ? 'the largest less the smallest count of each level, with the participant in that slot'
      : 'the counts of each level in that slot';
  const share =
    best === 1
      ? `It has the probability ${p}, and all others share the rest equally.`
      : `${best} are best alike: one of them, at random, has the probability ${p}, and all others share the rest equally. Below is the mean over that choice.`;
  return [
    `The sum of ${of}, each times the weight of its factor.`,
    '',
    ...columns(
      named.map((name, k) => [name, String(scores[k]), scores[k] === least ? '<- best' : '']),
      ['left'],
    ),
    '',
    share,
  ];
}

function blockLines({ stratum, number, size, sizes, lot, first }: NonNullable<PickExplanation['block']>) {
  const where = stratum.length === 0 ? 'The whole study is one stratum' : `Stratum ${stratumText(stratum)}`;
  const drawn = first ? 'just now, before the place' : 'at its first place';
  const byLot =
    lot === undefined
      ? ''
      : ` (of the sizes ${sizes.join(' and ')}, integers(${sizes.length}) gave ${lot} ${drawn})`;
  return [`${where}, block ${number}, of ${size} places${byLot}.`];
}

/** If the record differs, the working is not what happened, and the title says so. */
function title({ id, trt, agrees }: Explanation): string {
  return agrees
    ? `Why participant ${id} was assigned to ${trt}`
    : `THE RECORD OF PARTICIPANT ${id} DIFFERS from what is worked out here: ${trt} (see the end)`;
}

function section(heading: string, lines: readonly string[]): string[] {
  return ['', heading, ...lines.map((line) => `   ${line}`)];
}

function urns(explanation: UrnExplanation): string[] {
  const { w, alpha, beta, slot, closed_treatments: closed, urns: all, corrections } = explanation;
  const [of, on] = slot === undefined ? ['treatment', 'on'] : ['slot', 'in'];
  const rows = all.flatMap(({ factor, level, counts, balls }) => [
    [`${factor} = ${level}`, 'participants', ...counts.map(String), String(sum(counts))],
    ['', 'balls', ...balls.map(String), String(sum(balls))],
  ]);
  return [
    ...(slot === undefined
      ? []
      : [
          'The study has a ratio: an arm has as many slots as its number in the ratio, and takes whoever falls on one.',
        ]),
    `Of ${of} k, an urn holds  w + alpha x n + beta x (N - n)  balls, where n is the number of earlier`,
    `participants of that level ${on} ${of} k, and N of those ${on} any ${of}.`,
    ...(closed ? [`Closed arms are left out, with their participants: ${closed.join(', ')}.`] : []),
    `In this study w = ${w}, alpha = ${alpha}, beta = ${beta}.`,
    '',
    ...columns([['', '', ...slotNames(explanation), 'all'], ...rows], ['left', 'left']),
    ...moves(corrections),
  ];
}

function moves(corrections: UrnExplanation['corrections']): string[] {
  if (corrections.length === 0) return [];
  const named = corrections.map(({ revision, type, id }) => [
    `revision ${revision}`,
    type,
    `of participant ${id}`,
  ]);
  return [
    '',
    'The numbers of participants follow these corrections:',
    ...columns(named, ['left', 'left', 'left']),
  ];
}

function imbalances({ urns: all, slot }: UrnExplanation): string[] {
  const rows = columns(
    all.map(({ factor, level, imbalance, candidate }) => [
      `${factor} = ${level}`,
      String(imbalance),
      candidate ? '<- largest' : '',
    ]),
    ['left', 'left', 'left'],
  );
  if (slot === undefined) return rows;
  return [
    'With a ratio (version 2 of the algorithm), d is worked out from the balls in ascending order, so that the order of',
    'the slots has no part in it.',
    '',
    ...rows,
  ];
}

/** An arm with several slots is named with the number of each. */
function slotNames({ treatments }: DrawnExplanation): string[] {
  return treatments.map((name, k) => {
    if (treatments.indexOf(name) === treatments.lastIndexOf(name)) return name;
    return `${name} (slot ${treatments.slice(0, k + 1).filter((one) => one === name).length})`;
  });
}

function candidates({ candidates: names, missed_by_rounding }: UrnExplanation): string[] {
  const note = [
    `Note: on paper these are equally imbalanced, too: ${missed_by_rounding.join(', ')}. Their imbalance differs in the last`,
    'digit only, by rounding, so they are not candidates. This is a known property of the method (docs/methods.md).',
  ];
  return [`${names.join(', ')}${names.length > 1 ? '  (sorted by name)' : ''}`].concat(
    missed_by_rounding.length > 0 ? note : [],
  );
}

function lot({ lot: cast, candidates: names, selected_factor }: UrnExplanation): string[] {
  if (!cast) return [`None was cast: ${selected_factor} is the only candidate.`];
  return [
    `A lot was cast among the ${cast.below} candidates, as a uniform random whole number from 0 to ${cast.below - 1}: it is ${cast.result}, so ${selected_factor}.`,
    ...columns(
      names.map((name, i) => [String(i), name, i === cast.result ? '<- the lot' : '']),
      ['left', 'left', 'left'],
    ),
  ];
}

/** @param held what the probabilities are in proportion to */
function draw(explanation: DrawnExplanation, heading: string, held: readonly number[]): string[] {
  const { uniform53, uniform, probabilities, cumulative, trt, slot } = explanation;
  const section = 'urns' in explanation ? 'draw' : 'pick';
  const drawn = indexAt(cumulative, uniform53);
  const rows = slotNames(explanation).map((name, k) => [
    name,
    String(held[k]),
    String(probabilities[k]),
    String(k === 0 ? 0 : cumulative[k - 1]),
    String(cumulative[k]),
    k === drawn ? '<- u falls here' : '',
  ]);
  return [
    `A uniform random number from 0 to below 1:  u = ${uniform53} x 2^-53 = ${uniform}`,
    '',
    ...columns(
      [[slot === undefined ? 'treatment' : 'slot', heading, 'probability', 'from', 'to below', ''], ...rows],
      ['left', 'right', 'left', 'left', 'left', 'left'],
    ),
    '',
    `Treatment: ${trt}${slot === undefined ? '' : ` (${section}.slot ${slot}, counted from 0 over all slots)`}`,
  ];
}

function generator({ bg_state_before: before, bg_state_after: after }: DrawnExplanation): string[] {
  const row = (name: string, of: (state: typeof before) => unknown) => [
    name,
    String(of(before)),
    String(of(after)),
  ];
  return columns(
    [
      ['', 'before', 'after'],
      row('state', ({ state }) => state.state),
      row('inc', ({ state }) => state.inc),
      row('has_uint32', ({ has_uint32 }) => has_uint32),
      row('uinteger', ({ uinteger }) => uinteger),
    ],
    ['left', 'left', 'left'],
  );
}

function comparison(explanation: Explanation): string[] {
  const { agrees, differences } = explanation;
  if (agrees && 'entry' in explanation)
    return [
      'The entry was looked up again from the lists and the records before this one.',
      'The record says the same: levels, entry and treatment.',
    ];
  const evidence =
    'urns' in explanation
      ? 'levels, candidates, selected urn with its counts and balls, random number, both'
      : `levels, ${'block' in explanation ? 'block, places left' : 'weights'}, random number, both`;
  if (agrees)
    return [
      'All of the above was worked out again from the registered configuration and the records before this one.',
      `The record says the same: ${evidence}`,
      'states of the generator, and treatment.',
    ];
  return [
    'THE RECORD SAYS OTHERWISE. The above was worked out again from the earlier records. This record, or one before it,',
    'is not what the service wrote. In this record:',
    ...differences.flatMap(({ field, recorded, recomputed }) => [
      '',
      field,
      `   recorded:    ${recorded}`,
      `   worked out:  ${recomputed}`,
    ]),
  ];
}

function selectedUrn({ urns: all, selected_factor }: UrnExplanation): string {
  return `${selected_factor} = ${all.find(({ selected }) => selected)?.level}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}

type Side = 'left' | 'right';

/**
 * Formats rows as lines. Each column is as wide as its widest cell. Columns beyond `sides` hold numbers, aligned right.
 */
function columns(rows: readonly (readonly string[])[], sides: readonly Side[]): string[] {
  const width = (cell: string) => [...cell].length;
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => width(row[i] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const space = ' '.repeat((widths[i] ?? 0) - width(cell));
        return sides[i] === 'left' ? cell + space : space + cell;
      })
      .join('  '),
  );
}
