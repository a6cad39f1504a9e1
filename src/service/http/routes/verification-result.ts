/**
 * The report of a verification as HTTP shows it. It is the report of `urn verify --json`, assembled member by member and
 * checked against its schema.
 *
 * The report is about one study. From it, a key that is limited to studies must learn nothing about other studies. For `log`
 * and `access` it sees whether they are sound and how they compare with the checkpoint, but not the content of any record.
 */
import { z } from 'zod';
import { STATUSES } from '../../../core/model/status.ts';
import type { Divergence, Report, StreamReport } from '../../../evidence/verify/report/report.ts';
import { resultJson } from '../request/schemas.ts';

const CAUTION =
  'The service has verified itself: this shows damage and mistakes, and proves less than a verification by a program of yours (urn verify on a copy of the log, or the verifier of a bundle), under a key and checkpoints that you have from elsewhere.';
const WITHHELD = 'the details are not shown to a key that is limited to studies';

const Revision = z.int();
const Size = z.int().nonnegative();
const Hash = z.base64();
const Given = { where: z.string(), size: Size };

const DivergenceResult = z.strictObject({
  revision: Revision,
  id: z.string().optional(),
  type: z.string().optional(),
  participant: z.string().optional(),
  field: z
    .string()
    .optional()
    .meta({ description: 'Path of the field in the record or its sealed sections' }),
  expected: z.string().optional(),
  found: z.string().optional(),
  why: z.string(),
  alsoDiffer: z
    .array(z.string())
    .optional()
    .meta({ description: 'Other fields of the same event that differ' }),
});

const EvidenceResult = z.strictObject({
  matching: z.int().meta({ description: 'Number of given checkpoints that match: 0 or 1' }),
  matchingSize: Size.meta({ description: 'Size of the checkpoint that matches, or 0 if none does' }),
  failing: z.int(),
  failed: z.array(
    z.strictObject({
      ...Given,
      because: z.enum(['other-root', 'missing-tail', 'gap']),
      signedRoot: Hash,
      root: Hash.optional(),
    }),
  ),
  rewritten: z.strictObject({ afterSize: Size, upToSize: Size }).optional(),
  tailCutOff: z.strictObject({ size: Size, signedSize: Size }).optional(),
  lost: z.array(
    z.strictObject({
      ...Given,
      recovery: z.int(),
      kept: z.int(),
      because: z.enum(['declared-loss', 'undeclared-loss']),
    }),
  ),
  uncovered: z
    .strictObject({ from: Revision, to: Revision })
    .optional()
    .meta({ description: 'Revisions that no matching checkpoint covers' }),
});

const Numbers = z.record(z.string(), z.int()).optional();

const LifeResult = z.strictObject({
  state: z.enum(STATUSES).meta({ description: 'After the last sound record' }),
  imported: z
    .strictObject({ redrawn: z.int(), unproven: z.int() })
    .optional()
    .meta({ description: 'Number of participants that came from another system' }),
  amendments: z.int().optional().meta({ description: 'Number of amendments of the design' }),
  corrected: z.int().optional().meta({ description: 'Number of corrections of levels' }),
  packs: z
    .strictObject({
      ...{ registered: z.int(), replaced: z.int(), withdrawn: z.int() },
      ...{ dispensed: z.int().optional(), corrected: z.int().optional() },
    })
    .optional()
    .meta({
      description:
        'How many packs are on the lists, were replaced, and were withdrawn; how many were given out at visits, and how often that was corrected',
    }),
  forced: Numbers.meta({ description: 'How many allocations were entered by hand, by cause' }),
  idsCorrected: z.int().optional(),
  voided: Numbers.meta({ description: 'Number of participants who are voided, by cause' }),
  changedAfterClosing: Numbers.meta({
    description: 'Number of corrections while the study was closed, by type of event',
  }),
  revealed: Numbers.meta({
    description: 'Number of code-breaks by category, without those that did not occur',
  }),
  unblindingReported: z
    .int()
    .optional()
    .meta({ description: 'Number of reports that a participant was unblinded outside the service' }),
});

const StreamResult = z.strictObject({
  stream: z.string(),
  study: z.string().optional().meta({ description: "The study's name" }),
  sound: z.boolean(),
  records: z.int(),
  participants: z.int().optional(),
  life: LifeResult.optional().meta({
    description: 'What happened in the study besides its allocations, as far as its records are sound',
  }),
  root: Hash.optional().meta({ description: 'Merkle root over all records' }),
  divergence: DivergenceResult.optional().meta({
    description:
      'The first record that does not follow from the records before it. For `log` and `access`, a key that is limited to studies sees only the revision.',
  }),
  notReplayed: z
    .int()
    .meta({ description: 'Number of records from the divergence on, which were not decided again' }),
  evidence: EvidenceResult,
  warnings: z.array(
    z.strictObject({ code: z.string(), count: z.int(), revision: Revision.optional(), text: z.string() }),
  ),
});

export const VerificationResult = z.strictObject({
  caution: z
    .string()
    .meta({ description: 'What the report proves and what it does not', examples: [CAUTION] }),
  ok: z
    .boolean()
    .meta({ description: 'Whether there was no failure. This is not proof: see selfConsistentOnly.' }),
  selfConsistentOnly: z.boolean().meta({
    description:
      'Always true: the service trusts the key in its own log, and that key does not prove who signed. The history agrees with itself, and with the given checkpoint if `evidence` says so.',
  }),
  log: z
    .strictObject({
      id: z.string(),
      name: z.string(),
      publicKey: z.string(),
      laterKeys: z.array(z.string()),
      recoveries: z.array(
        z.strictObject({
          recovery: z.int(),
          at: z.string(),
          reason: z
            .string()
            .optional()
            .meta({ description: 'Not shown to a key that is limited to studies' }),
        }),
      ),
    })
    .optional()
    .meta({ description: 'What the log says about itself. Absent if it does not begin with LogCreated.' }),
  streams: z.array(StreamResult).meta({ description: '`log`, `access` and the study' }),
  unusedCheckpoints: z
    .array(
      z.strictObject({
        ...Given,
        origin: z.string(),
        because: z.enum([
          'forged',
          'not-trusted',
          'other-log',
          'other-recovery',
          'no-such-stream',
          'declared-loss',
          'not-asked-for',
        ]),
      }),
    )
    .meta({ description: 'The given checkpoint, if it could not be compared' }),
  store: z
    .strictObject({ problems: z.array(z.string()), warnings: z.array(z.string()) })
    .optional()
    .meta({
      description:
        'How the database differs from one made by this program. A problem is a failure; a warning is not.',
    }),
  seconds: z.number(),
});

export interface Shown {
  /** The stream of the study. */
  readonly stream: string;
  /** Whether the key is limited to some studies. */
  readonly isLimited: boolean;
}

export function verificationJson(report: Report, shown: Shown): string {
  return resultJson<unknown>(VerificationResult, verificationResult(report, shown));
}

export function verificationResult(
  report: Report,
  { stream, isLimited }: Shown,
): z.input<typeof VerificationResult> {
  const { ok, selfConsistentOnly, log, unusedCheckpoints, store, seconds } = report;
  return {
    caution: CAUTION,
    ok,
    selfConsistentOnly,
    ...(log && {
      log: {
        ...{ id: log.id, name: log.name, publicKey: log.publicKey, laterKeys: [...log.laterKeys] },
        recoveries: log.recoveries.map(({ recovery, at, reason }) => ({
          ...{ recovery, at },
          ...(!isLimited && { reason }),
        })),
      },
    }),
    streams: report.streams
      // If the log does not say its id, all of its studies are verified.
      .filter((one) => ['log', 'access', stream].includes(one.stream))
      .map((one) => streamResult(one, isLimited)),
    unusedCheckpoints: unusedCheckpoints.map(({ where, origin, size, because }) => ({
      ...{ where, origin, size, because },
    })),
    ...(store && { store: { problems: [...store.problems], warnings: [...store.warnings] } }),
    seconds,
  };
}

function streamResult(report: StreamReport, isLimited: boolean): z.input<typeof StreamResult> {
  const { stream, study, sound, records, participants, life, root } = report;
  const { divergence, notReplayed, warnings } = report;
  const { matching, matchingSize, failing, failed, rewritten, tailCutOff, lost, uncovered } = report.evidence;
  return {
    ...{ stream, study, sound, records, participants },
    ...(life && { life }),
    root,
    divergence: divergence && divergenceResult(divergence, stream, isLimited),
    notReplayed,
    evidence: {
      ...{ matching, matchingSize, failing },
      failed: failed.map(({ where, size, because, signedRoot, root: found }) => ({
        ...{ where, size, because, signedRoot, root: found },
      })),
      ...{ rewritten, tailCutOff },
      lost: lost.map(({ where, size, recovery, kept, because }) => ({
        ...{ where, size, recovery, kept, because },
      })),
      uncovered,
    },
    warnings: warnings.map(({ code, count, revision, text }) => ({ code, count, revision, text })),
  };
}

function divergenceResult(
  divergence: Divergence,
  stream: string,
  isLimited: boolean,
): z.input<typeof DivergenceResult> {
  const { revision, id, type, participant, field, expected, found, why, alsoDiffer } = divergence;
  if (isLimited && !stream.startsWith('study-')) return { revision, why: WITHHELD };
  // These fields hold data of `access`: a key's user, and the studies that it is limited to.
  const isAboutKey = field === 'actor' || field.startsWith('actor.');
  return {
    ...{ revision, id, type, participant, field },
    ...(!(isLimited && isAboutKey) && { expected, found }),
    ...{ why, alsoDiffer: [...alsoDiffer] },
  };
}
