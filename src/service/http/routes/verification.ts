/**
 * GET /verification: the service itself verifies the study, with the streams `log` and `access`, and reports the result; and GET
 * /verification_progress, for clients that wait for it.
 *
 * The report is that of `urn verify --json`, without what its schema does not name. It is about one study. From it, a key that is
 * limited to studies must learn nothing about other studies: for `log` and `access` it sees whether they are sound and how they
 * compare with the checkpoint, but not the content of any record.
 */
import { z } from 'zod';
import { decodeBase64, keptCheckpoint, parseOrigin } from '../../../core/log/formats.ts';
import { LifeReport, type Report, type StreamReport } from '../../../evidence/verify/report/report.ts';
import { whileConnected } from '../request/in-progress.ts';
import { ERRORS, operation, ref, STUDY } from '../request/openapi-operation.ts';
import { type Query, refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { checked, resultJson, SUCCESS } from '../request/reply.ts';
import { keyHandler, requireScope, type Services, studyNameFor } from '../request/study-request.ts';

const VERIFICATION_PARAMETERS = new Set(['api_key', 'study', 'checkpoint']);

export const verificationOperation = operation(
  'Verify the study and the streams `log` and `access`: check every record and decide every event again',
  'verification',
  ['audit'],
  {
    parameters: [
      STUDY,
      {
        name: 'checkpoint',
        in: 'query',
        description:
          'A signed checkpoint of this study, or of `log` or `access`, to compare the log with: the whole note in base64, as in Urn-Receipt',
        schema: { type: 'string', format: 'byte' },
      },
    ],
    result: ref('Verification'),
    empty: [],
    errors: {
      ...ERRORS,
      503: `${ERRORS[503]}. Also while another verification is running, and if the service shuts down during this one`,
    },
  },
);

/** GET /verification: for a study whose records cannot all be read, too. */
export function getVerification(services: Services) {
  return keyHandler(services, async ({ http, query, accepted: { key } }, locals) => {
    // A study whose records cannot all be read needs a verification most.
    const { name, stream } = studyNameFor(services, key, query.get('study'));
    locals.study = stream.slice('study-'.length);
    locals.studyName = name;
    locals.isTest = services.studies.find(name)?.registered.configuration.mode === 'test';
    requireScope(key, ['audit']);
    const problems = unknownParameters(query, VERIFICATION_PARAMETERS, 'verification');
    const checkpoint = checkpointOf(query, { logName: services.logName, stream }, problems);
    refuseProblems(problems);
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a verification is of all');
    const report = await whileConnected(http, (signal) =>
      services.verifications.run({ study: name, checkpoint }, signal),
    );
    const records = report.streams.find((one) => one.stream === stream)?.records ?? 0;
    const results = verificationJson(report, { stream, isLimited: key.studies !== undefined });
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: records - 1,
      discloses: { what: 'verification', ...(records > 0 && { toRevision: records - 1 }) },
    };
  });
}

/** Returns the given checkpoint note, in the form of `Urn-Receipt`. Any problems with it are added to `problems`. */
function checkpointOf(
  query: Query,
  { logName, stream }: { readonly logName: string; readonly stream: string },
  problems: string[],
): string | undefined {
  const given = query.get('checkpoint');
  if (given === undefined) return undefined;
  const bytes = decodeBase64(given);
  if (bytes === undefined || given === '') {
    const hint = given.includes(' ') ? ' (encode each + as %2B)' : '';
    problems.push(`checkpoint is not the base64 of a signed note, as in Urn-Receipt${hint}`);
    return undefined;
  }
  const note = Buffer.from(bytes).toString('utf8');
  const kept = keptCheckpoint(note, 'checkpoint');
  if ('why' in kept) {
    problems.push(`checkpoint is not the signed note of a checkpoint: ${kept.why}`);
    return undefined;
  }
  // A checkpoint of another stream would be ignored, and the report would look as if it had been compared.
  const of = parseOrigin(logName, kept.claims.origin)?.stream;
  if (of !== undefined && ![stream, 'log', 'access'].includes(of))
    problems.push(`checkpoint is of a stream other than this study's, which is ${stream}`);
  return note;
}

// The report as HTTP shows it

interface ReportScope {
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

const WITHHELD = 'the details are not shown to a key that is limited to studies';

/** Without what tells of other studies. */
function withoutOtherStudies({ divergence, ...report }: StreamReport) {
  if (!divergence) return report;
  const { revision, expected: _, found: __, ...named } = divergence;
  if (!report.stream.startsWith('study-')) return { ...report, divergence: { revision, why: WITHHELD } };
  // These fields hold data of `access`: a key's user, and the studies that it is limited to.
  const isAboutKey = divergence.field === 'actor' || divergence.field.startsWith('actor.');
  return { ...report, divergence: isAboutKey ? { revision, ...named } : divergence };
}

const CAUTION =
  'The service has verified itself: this shows damage and mistakes, and proves less than a verification by a program of yours (urn verify on a copy of the log, or the verifier of a bundle), under a key and checkpoints that you have from elsewhere.';

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

// GET /verification_progress: how far the verification of a study is

/** The streams that are verified with every study. */
const COMMON_STREAMS = ['log', 'access'] as const;

const PROGRESS_PARAMETERS = new Set(['api_key', 'study']);

export const VerificationProgressResult = z.strictObject({
  verified: z
    .int()
    .optional()
    .meta({ description: 'Records verified so far. Absent: no verification of this study is under way' }),
  records: z.int().meta({ description: 'Records to verify: of the study, and of `log` and `access`' }),
});

export const verificationProgressOperation = operation(
  'How far the verification of a study is',
  'verificationProgress',
  ['audit'],
  {
    parameters: [STUDY],
    result: ref('VerificationProgress'),
    example: { verified: 2000, records: 3127 },
    empty: {},
    errors: ERRORS,
  },
);

export function getVerificationProgress(services: Services) {
  const { runner, verifications } = services;
  return keyHandler(services, async ({ query, accepted: { key } }, locals) => {
    // As for the verification, the study may be one whose records cannot all be read.
    const { name, stream } = studyNameFor(services, key, query.get('study'));
    locals.study = stream.slice('study-'.length);
    locals.studyName = name;
    requireScope(key, ['audit']);
    refuseProblems(unknownParameters(query, PROGRESS_PARAMETERS, 'verification_progress'));
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a verification is of all');
    const verified = verifications.progressOf(name);
    const records = [stream, ...COMMON_STREAMS].reduce((sum, one) => sum + runner.revision(one) + 1, 0);
    const progress = { ...(verified !== undefined && { verified }), records };
    return {
      status: 200,
      message: SUCCESS,
      results: resultJson(VerificationProgressResult, progress),
      revision: runner.revision(stream),
    };
  });
}
