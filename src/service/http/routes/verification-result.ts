/**
 * The report of a verification as HTTP shows it. It is the report of `urn verify --json`, without what its schema does not
 * name.
 *
 * The report is about one study. From it, a key that is limited to studies must learn nothing about other studies. For `log`
 * and `access` it sees whether they are sound and how they compare with the checkpoint, but not the content of any record.
 */
import { z } from 'zod';
import { LifeReport, type Report, type StreamReport } from '../../../evidence/verify/report/report.ts';
import { checked } from '../request/schemas.ts';

const CAUTION =
  'The service has verified itself: this shows damage and mistakes, and proves less than a verification by a program of yours (urn verify on a copy of the log, or the verifier of a bundle), under a key and checkpoints that you have from elsewhere.';
const WITHHELD = 'the details are not shown to a key that is limited to studies';

const Revision = z.int();
const Size = z.int().nonnegative();
const Hash = z.base64();
const Given = { where: z.string(), size: Size };

const DivergenceResult = z.object({
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

const EvidenceResult = z.object({
  matching: z.int().meta({ description: 'Number of given checkpoints that match: 0 or 1' }),
  matchingSize: Size.meta({ description: 'Size of the checkpoint that matches, or 0 if none does' }),
  failing: z.int(),
  failed: z.array(
    z.object({
      ...Given,
      because: z.enum(['other-root', 'missing-tail', 'gap']),
      signedRoot: Hash,
      root: Hash.optional(),
    }),
  ),
  rewritten: z.object({ afterSize: Size, upToSize: Size }).optional(),
  tailCutOff: z.object({ size: Size, signedSize: Size }).optional(),
  lost: z.array(
    z.object({
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

const StreamResult = z.object({
  stream: z.string(),
  study: z.string().optional().meta({ description: "The study's name" }),
  sound: z.boolean(),
  records: z.int(),
  participants: z.int().optional(),
  life: LifeReport.optional().meta({
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
    z.object({ code: z.string(), count: z.int(), revision: Revision.optional(), text: z.string() }),
  ),
});

export const VerificationResult = z.object({
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
        z.object({
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
      z.object({
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

export interface ReportScope {
  /** The stream of the study. */
  readonly stream: string;
  /** Whether the key is limited to some studies. */
  readonly isLimited: boolean;
}

export function verificationJson(report: Report, shown: ReportScope): string {
  return JSON.stringify(verificationResult(report, shown));
}

/** The schema lets through what it names, and nothing else. */
export function verificationResult(
  report: Report,
  { stream, isLimited }: ReportScope,
): z.output<typeof VerificationResult> {
  const { log } = report;
  const streams = report.streams
    // If the log does not say its id, all of its studies are verified.
    .filter((one) => ['log', 'access', stream].includes(one.stream))
    .map((one) => (isLimited ? withoutOtherStudies(one) : one));
  const recoveries = log?.recoveries.map(({ reason, ...one }) => (isLimited ? one : { ...one, reason }));
  return checked(VerificationResult, {
    ...{ ...report, caution: CAUTION, streams },
    ...(log && { log: { ...log, recoveries } }),
  });
}

/** Without what tells of other studies. */
function withoutOtherStudies({ divergence, ...report }: StreamReport) {
  if (!divergence) return report;
  const { revision, expected: _, found: __, ...named } = divergence;
  if (!report.stream.startsWith('study-')) return { ...report, divergence: { revision, why: WITHHELD } };
  // These fields hold data of `access`: a key's user, and the studies that it is limited to.
  const isAboutKey = divergence.field === 'actor' || divergence.field.startsWith('actor.');
  return { ...report, divergence: isAboutKey ? { revision, ...named } : divergence };
}
