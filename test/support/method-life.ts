/** Any life of a study that allocates otherwise than from urns. */
import type { DesignChange } from '../../events/amendment.ts';
import { openTreatments } from '../../projections/design.ts';
import type { Model } from '../../src/core/model/model.ts';
import type { Written } from './acts.ts';
import { type BundledStudy, bundledStudy } from './bundled-study.ts';
import { type Choices, choicesOf } from './choices.ts';
import { OPERATOR } from './facts.ts';
import {
  A,
  APPROVAL,
  arm,
  B,
  C,
  COOK,
  change,
  DUPAGE,
  FEMALE,
  MALE,
  now,
  ratio,
  SEX,
  SITE,
  site,
} from './life.ts';
import { entryOf, FILES, imported, list, type MethodStudy, skip } from './lives/methods.ts';

const STEPS = 45;
const isListed = ({ configuration }: MethodStudy) =>
  'method' in configuration && configuration.method.name === 'list';

/** Many of the steps are refused. @param seed of the choices, and of the study, unless it has lists */
export function makeMethodLife(
  folder: string,
  study: MethodStudy,
  seed: number,
): Promise<BundledStudy<'nurse'>> {
  const choices = choicesOf(seed);
  const seeded = { ...study, ...(!isListed(study) && { seed: BigInt(seed) }) };
  return bundledStudy(folder, seeded, async ({ issue, submit, model, recover }) => {
    const nurse = await issue('nurse', ['blinded', 'randomize']);
    const attempt = (written: Written) => submit(OPERATOR, written).catch(() => undefined);
    if (choices.chance(0.5)) for (const one of Object.values(imported(A, C))) await submit(OPERATOR, one);
    for (let n = 1; n <= STEPS; n++) {
      const { design, participants } = model();
      if (isListed(study)) for (const one of listing(model(), n, choices)) await attempt(one);
      const levels = design.factors.map((factor) => (factor.isRetired ? '' : choices.pick(factor.levels)));
      if (choices.chance(0.7)) {
        const enrol: Written = { type: 'randomize', participantId: `p${n}`, levels, user: 'nurse' };
        await submit(nurse, enrol).catch(() => undefined);
      } else if (choices.chance(0.1)) await recover();
      else if (choices.chance(0.5)) {
        const who = choices.pick([...participants.all(), undefined])?.participantId ?? 'nobody';
        await attempt(choices.pick(happenings(n, who, choices.pick(openTreatments(design)), levels)));
      } else {
        const history = choices.pick(['keep', 'restart', undefined] as const);
        await attempt({
          ...{ type: 'amend', user: 'operator', amendment: design.amendment + 1, reason: 'protocol 3' },
          ...{ changes: [designChange(n, choices)], approvals: [APPROVAL], history },
        });
      }
    }
    return { nurse };
  });
}

function happenings(
  n: number,
  participantId: string,
  treatment: string,
  levels: readonly string[],
): Written[] {
  const one = { user: 'operator', participantId, note: 'slip' };
  const correct = { ...one, act: 'LevelsCorrected', cause: 'entry' } as const;
  const voided = { ...one, act: 'AllocationVoided', analysis: 'exclude' } as const;
  return [
    {
      ...{ type: 'force', user: 'operator', participantId: `F${n}`, treatment, levels },
      ...{ cause: 'outage', occurredAt: now(), note: 'envelope' },
    },
    { ...correct, changes: [change(SEX, MALE, FEMALE)] },
    { ...correct, changes: [change(SITE, COOK, DUPAGE)] },
    { ...voided, cause: 'duplicate' },
    { ...voided, cause: 'entry' },
    { ...one, act: 'AllocationReinstated' },
  ];
}

/** A list now and then, and so that there is one. A skip where it is owed, and now and then where it is not. */
function listing({ design, entries, methodDesign }: Model, n: number, choices: Choices): Written[] {
  if (methodDesign.method !== 'list') return [];
  const levelsOfBy = methodDesign.by.map((factor) => design.factors[factor]?.levels ?? []);
  const stratum = () => levelsOfBy.map((levels) => choices.pick(levels));
  const written: Written[] = [];
  if (entries.leftInAll === 0 || choices.chance(0.15)) {
    const file = choices.pick([...FILES, `${n}`.padStart(64, '0')]);
    const many = choices.between(1, 12);
    const arms = openTreatments(design);
    const rows = Array.from({ length: many }, () => entryOf(choices.pick(arms), ...stratum()));
    written.push(list(entries.lists + 1, file, entries.rowsOf(file) + 1, rows));
  }
  if (choices.chance(entries.isSkipOwed ? 0.5 : 0.05)) {
    const strata = Array.from({ length: choices.between(0, 2) }, stratum);
    const count = choices.between(1, 2);
    written.push(skip(...strata.map((levels) => ({ ...(levels.length > 0 && { levels }), count }))), skip());
  }
  return written;
}

function designChange(n: number, choices: Choices): DesignChange {
  const treatment = choices.pick([A, B, C, 'D']);
  const place = choices.pick([COOK, DUPAGE, 'a', 'b']);
  return choices.pick<DesignChange>([
    ...[arm.closed(treatment), arm.reopened(treatment), arm.added('D'), ratio(2, 1, 1), ratio(1, 1, 1)],
    ...[site.closed(place), site.reopened(place), site.added(place)],
    { kind: 'level-renamed', factor: SITE, level: place, to: `${place} ${n}` },
    { kind: 'factor-retired', factor: SEX },
    { kind: 'policy', name: 'voidCounts', value: 'removed' },
    { kind: 'policy', name: 'forcedCounts', value: 'not-counted' },
  ]);
}
