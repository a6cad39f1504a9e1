/**
 * The life of a study: its registration, randomized participants and recoveries, on which its allocations rest; then its
 * amendments, and whether it takes participants. Stream `study-<studyId>`.
 *
 * Everything in `data` is in the clear and safe for a blinded reader. Everything in `sections` is sealed (see record.ts).
 * Lists are always arrays, never object keys, because keys such as "10" and "9" would be reordered.
 */
import { z } from 'zod';
import { Approval, defineEvent, type FactOf, Protocol } from './define.ts';
import { SignedSize } from './log.ts';

const Name = z.string().min(1);
const Count = z.int().nonnegative();

/** The Idempotency-Key of the request, unique per study and user over all types of events. */
export const request = { request: { idempotencyKey: z.string().min(1) } };

// Registration: the configuration, what draws, and where the generator starts.

export const ImbalanceMeasure = z.enum(['range', 'variance', 'chisquare']);
export type ImbalanceMeasure = z.infer<typeof ImbalanceMeasure>;

/** Of a study with urns, which is one without a `method`. */
const URN = {
  D: ImbalanceMeasure,
  urnSelection: z.literal('method1'),
  /** Balls per treatment at the start. */
  w: z.int().min(1),
  /** Balls added for the assigned treatment. */
  alpha: Count,
  /** Balls added for every other treatment. */
  beta: Count,
};

/** How many participants a study takes, in all and with one level of a factor. */
export const Limits = z.strictObject({
  total: z.int().min(1).optional(),
  /** In the order of the configuration. */
  levels: z
    .array(z.strictObject({ factor: Name, level: Name, max: z.int().min(1) }))
    .min(1)
    .optional(),
});
export type Limits = z.infer<typeof Limits>;

/** What applies to later events. Only what differs from the default is recorded, so the defaults never change. */
export const Policies = z.strictObject({
  /** Whether the limits stop participants. Otherwise they are information. */
  stopAtLimit: z.literal(true).optional(),
  /** Which level the urns count after a correction. By default `as-corrected` in a blinded study, otherwise `as-randomized`. */
  levelCounts: z.enum(['as-randomized', 'as-corrected']).optional(),
  /** Whether the urns still count participants who were voided as duplicates or never enrolled. By default they do. */
  voidCounts: z.literal('removed').optional(),
  /** Whether the urns count allocations made outside. By default they do. */
  forcedCounts: z.literal('not-counted').optional(),
});
export type Policies = z.infer<typeof Policies>;

/** How many slots each treatment has, in the order of the treatments. Ones mean none, and are left out. */
const Ratio = z.array(z.int().min(1).max(20)).min(2);

export const MAX_VISITS = 100;
/** A visit at which participants get another pack. Which names are the same visit is decided by `foldedVisit`. */
export const Visit = z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._ -]{0,18}[A-Za-z0-9._-])?$/, {
  error: 'is no name of a visit: 1 to 20 letters, digits, blanks and . _ -, and no blank at the end',
});

/** Of every study, whatever its method. */
const STUDY = {
  name: Name,
  mode: z.enum(['test', 'live']),
  treatments: z.array(Name).min(2),
  factors: z.array(z.strictObject({ name: Name, levels: z.array(Name).min(1) })).min(1),
  /** Regular expression (ECMAScript, flag `u`) that a whole participant id must match. */
  idPattern: z.string().optional(),
  targetEnrollment: Count.optional(),
  /** Absent: the sites know the arms. */
  blinding: z.literal('blinded').optional(),
  /** Absent: the study is open from its registration on. */
  start: z.literal('paused').optional(),
  limits: Limits.optional(),
  policies: Policies.optional(),
  protocol: Protocol.optional(),
  ratio: Ratio.optional(),
  visits: z.array(Visit).min(1).max(MAX_VISITS).optional(),
};

/** What of a method other than the urn everybody may know. Its parameters are sealed. */
export const Method = z.union([
  z.strictObject({ name: z.literal('complete') }),
  /** `by`: the factors whose levels make a stratum, in the order of the configuration. */
  z.strictObject({ name: z.literal('blocks'), by: z.array(Name) }),
  z.strictObject({ name: z.literal('minimization') }),
  /** Of allocations that were made elsewhere, in strata like those of blocks. */
  z.strictObject({ name: z.literal('list'), by: z.array(Name) }),
]);
export type Method = z.infer<typeof Method>;

export const UrnConfiguration = z.strictObject({ ...STUDY, ...URN });
export type UrnConfiguration = z.infer<typeof UrnConfiguration>;
const MethodConfiguration = z.strictObject({ ...STUDY, method: Method });
export type MethodConfiguration = z.infer<typeof MethodConfiguration>;
/** A study's configuration as registered: effective values after defaults, in the order of the file. */
export const StudyConfiguration = z.union([UrnConfiguration, MethodConfiguration]);
export type StudyConfiguration = z.infer<typeof StudyConfiguration>;

/** What draws, by method. A list is followed, and nothing is drawn. */
export const ALGORITHMS = {
  complete: 'complete-pcg64',
  blocks: 'permuted-blocks-pcg64',
  minimization: 'minimization-pcg64',
  list: 'list',
} as const;
const Algorithm = z.union([
  /** Version 2 is that of a study with a ratio. */
  z.strictObject({
    name: z.literal('wei-urn-method1-pcg64'),
    version: z.union([z.literal(1), z.literal(2)]),
  }),
  z.strictObject({ name: z.enum(ALGORITHMS), version: z.literal(1) }),
]);
export type Algorithm = z.infer<typeof Algorithm>;

/** numpy's `bit_generator.state`, with 128-bit integers as decimal strings. */
export const BgState = z.strictObject({
  bit_generator: z.literal('PCG64'),
  state: z.strictObject({ state: z.string().regex(/^\d{1,39}$/), inc: z.string().regex(/^\d{1,39}$/) }),
  has_uint32: z.union([z.literal(0), z.literal(1)]),
  uinteger: z.int().min(0).max(0xffffffff),
});
export type BgState = z.infer<typeof BgState>;

export const MAX_PER_SLOT = 100;
/** How many places each slot has in a block. */
const PerSlot = z.int().min(1).max(MAX_PER_SLOT);

/** How many sizes blocks can have. */
export const MAX_SIZES = 8;

/** The largest weight that minimization can give a factor. */
export const MAX_FACTOR_WEIGHT = 100;
const MINIMIZATION = {
  measure: z.enum(['range', 'variance']),
  /** 1000 p, where p is the chance of the best slot. */
  pThousandths: z.int().min(550).max(950),
  /** One per factor, in the order of the configuration, without a common divisor. Absent: they are equal. */
  weights: z.array(z.int().min(1).max(MAX_FACTOR_WEIGHT)).min(1).optional(),
};
export type MinimizationParameters = z.infer<z.ZodObject<typeof MINIMIZATION>>;

/** What of a method nobody at a site may know. */
const METHOD_PARAMETERS = {
  blocks: {
    /** Of each size, ascending. */
    perSlot: z.array(PerSlot).min(1).max(MAX_SIZES),
  },
  minimization: MINIMIZATION,
};

/** The seed, and the state with which the generator begins. */
const generator = { seed: z.string().regex(/^\d+$/), bgState: BgState };

export const StudyRegistered = defineEvent('StudyRegistered', 1, {
  stream: 'study',
  data: z.strictObject({
    studyId: z.uuid(),
    configuration: StudyConfiguration,
    /** Where the seed came from: the studies file, or 128 bits drawn from the operating system. */
    seedSource: z.enum(['configured', 'drawn']),
    /** A configured seed below 2^96 can be found by search from published allocations. */
    seedWeak: z.boolean(),
    algorithm: Algorithm,
  }),
  sections: { generator },
  optionalSections: METHOD_PARAMETERS,
});

/** The sealed sections of a registration that say how its method draws. */
export type MethodParameters = Pick<
  FactOf<typeof StudyRegistered>['sections'],
  keyof typeof METHOD_PARAMETERS
>;

// Randomization, with the evidence of the draw; and what follows when records were lost.

export const Level = z.strictObject({ factor: Name, level: Name });
export type Level = z.infer<typeof Level>;

/** What is printed on a pack of medication. */
export const PackCode = z.string().regex(/^[A-Za-z0-9._/-]{1,64}$/);

/** Index of a slot. Recorded only while the study has a ratio: otherwise the treatment says it. */
export const Slot = Count;

/**
 * Evidence of a draw. `counts` and `balls` are those of the selected urn, in the order of the slots that could be drawn.
 * Without a ratio each treatment has one slot.
 */
export const Draw = {
  bgStateBefore: BgState,
  bgStateAfter: BgState,
  /** Factors whose urns were most imbalanced, sorted by code point. */
  candidates: z.array(Name).min(1),
  selectedFactor: Name,
  counts: z.array(Count).min(2),
  balls: z.array(Count).min(2),
  /** The uniform is u = uniform53 * 2^-53. */
  uniform53: Count,
  slot: Slot.optional(),
};

/** Evidence of a draw by another method than the urn, in the order of the slots that could be drawn. */
const PICK = {
  bgStateBefore: BgState,
  bgStateAfter: BgState,
  /** What each slot's chance is in proportion to. */
  weights: z.array(Count).min(2),
  /** The uniform is u = uniform53 * 2^-53. */
  uniform53: Count,
  slot: Slot.optional(),
  /** The stratum's block, counted from 1, and how many places each slot has in it. */
  block: z.strictObject({ number: z.int().min(1), perSlot: PerSlot }).optional(),
  /** With minimization: n of the participant's level of each factor that is not retired, by slot. */
  counts: z.array(z.array(Count).min(2)).min(1).optional(),
  /** With minimization: how far out of balance each slot would leave these levels. */
  scores: z.array(Count).min(2).optional(),
};

/** The entry of a list that was used, both counted from 1. */
const ENTRY = { list: z.int().min(1), entry: z.int().min(1) };

export const ParticipantRandomized = defineEvent('ParticipantRandomized', 1, {
  stream: 'study',
  data: z.strictObject({
    participantId: Name,
    levels: z.array(Level).min(1),
    /** Of the pack that the participant is given, in a study with packs. */
    code: PackCode.optional(),
  }),
  sections: { allocation: { treatment: Name } },
  /**
   * By which of the others an allocation has, its method shows: `draw` is that of the urn, `entry` that of a list. `request`
   * is there when the request carried an `Idempotency-Key`.
   */
  optionalSections: { ...request, draw: Draw, pick: PICK, entry: ENTRY },
});

/**
 * The first event after the records that a recovery of the log kept of the study (after its registration, if none were
 * kept). The generator continues with fresh entropy. Otherwise it would draw the lost allocations again, with arms that
 * sites already know.
 */
export const StudyRecovered = defineEvent('StudyRecovered', 1, {
  stream: 'study',
  /** The same as what the LogRecovered of this number says about the study. */
  data: z.strictObject({ recovery: z.int().min(1), kept: Count, signed: SignedSize.optional() }),
  /** 128 bits drawn from the operating system, and the state with which the generator restarts. */
  sections: { generator },
  optionalSections: {},
});

// Amendments: changes to the design, from here on.

/** Keeps ball counts exact: a million balls for each of a billion participants is below 2^53. */
export const MAX_WEIGHT = 1_000_000;
const Weight = z.int().nonnegative().max(MAX_WEIGHT);

/** Policies with their defaults written out. */
const PolicyChange = z.union([
  z.strictObject({ kind: z.literal('policy'), name: z.literal('stopAtLimit'), value: z.boolean() }),
  z.strictObject({
    kind: z.literal('policy'),
    name: z.literal('levelCounts'),
    value: z.enum(['as-randomized', 'as-corrected']),
  }),
  z.strictObject({
    kind: z.literal('policy'),
    name: z.literal('voidCounts'),
    value: z.enum(['kept', 'removed']),
  }),
  z.strictObject({
    kind: z.literal('policy'),
    name: z.literal('forcedCounts'),
    value: z.enum(['counted', 'not-counted']),
  }),
]);

/** One change. What is not said stays as it is. */
export const DesignChange = z.union([
  /** A new urn with `w` balls per treatment. */
  z.strictObject({ kind: z.literal('level-added'), factor: Name, level: Name }),
  /** Its urn is kept, and used again when the level is reopened. */
  z.strictObject({ kind: z.literal('level-closed'), factor: Name, level: Name }),
  z.strictObject({ kind: z.literal('level-reopened'), factor: Name, level: Name }),
  /** The same urn under another name. */
  z.strictObject({
    kind: z.literal('level-renamed'),
    factor: Name,
    level: Name,
    to: Name,
    /** Requests may still use the old name. They are recorded under the new one. */
    alias: z.literal(true).optional(),
  }),
  /** Its slots leave the urns. Their counts are kept, and count again when it is reopened. */
  z.strictObject({ kind: z.literal('arm-closed'), treatment: Name }),
  z.strictObject({ kind: z.literal('arm-reopened'), treatment: Name }),
  /** Its slots come after all others. */
  z.strictObject({
    kind: z.literal('arm-added'),
    treatment: Name,
    /** How many slots it has. Absent: one. */
    ratio: z.int().min(2).max(20).optional(),
  }),
  /** What the urns hold from here on, from the counts that there are. */
  z.strictObject({
    kind: z.literal('urn'),
    w: z.int().min(1).max(MAX_WEIGHT).optional(),
    alpha: Weight.optional(),
    beta: Weight.optional(),
    D: ImbalanceMeasure.optional(),
  }),
  /** One number for each treatment, also for those that are closed. Ones mean none. Slots are made anew. */
  z.strictObject({ kind: z.literal('ratio'), value: Ratio }),
  /** Its urns are never drawn from again, and requests no longer give its level. */
  z.strictObject({ kind: z.literal('factor-retired'), factor: Name }),
  /** All limits of the study from here on. Without `value` there are none. */
  z.strictObject({ kind: z.literal('limits'), value: Limits.optional() }),
  z.strictObject({ kind: z.literal('id-pattern'), value: z.string().optional() }),
  z.strictObject({ kind: z.literal('target'), value: z.int().nonnegative().optional() }),
  /** It changes no policy, because the defaults are fixed at the registration. */
  z.strictObject({ kind: z.literal('blinding'), value: z.enum(['open', 'blinded']) }),
  PolicyChange,
  /** All visits from here on. */
  z.strictObject({ kind: z.literal('visits'), value: z.array(Visit).max(MAX_VISITS) }),
  /** Of a closed arm: nobody on it gets packs any more, until it is reopened. */
  z.strictObject({ kind: z.literal('arm-stopped'), treatment: Name }),
]);
export type DesignChange = z.infer<typeof DesignChange>;

/** What the urns count from an amendment on: as before, or nobody who was enrolled before it. */
export const History = z.enum(['keep', 'restart']);
export type History = z.infer<typeof History>;

/**
 * The design is another one from here on. All of it is in the clear: sites get the amended protocol anyway. No recorded
 * allocation changes.
 */
export const StudyAmended = defineEvent('StudyAmended', 1, {
  stream: 'study',
  data: z.strictObject({
    /** 1, 2, 3, … */
    amendment: z.int().min(1),
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    /** Applied in this order. Empty only with a protocol. */
    changes: z.array(DesignChange),
    /** Absent if no change touches the urns. */
    history: History.optional(),
    protocol: Protocol.optional(),
    reason: Name,
  }),
  sections: {},
  optionalSections: request,
});

export type Amendment = z.infer<typeof StudyAmended.data>;

// Whether the study takes participants.

const inTheClear = { stream: 'study', sections: {}, optionalSections: request } as const;
const because = { ...inTheClear, data: z.strictObject({ reason: z.string().min(1) }) };

export const StudyPaused = defineEvent('StudyPaused', 1, because);
export const StudyResumed = defineEvent('StudyResumed', 1, because);

export const ClosingCause = z.enum(['target', 'sponsor', 'safety', 'regulator', 'end', 'other']);
export type ClosingCause = z.infer<typeof ClosingCause>;

/** The study takes no more participants. Those in it can still be corrected, and codes can be broken. */
export const StudyClosed = defineEvent('StudyClosed', 1, {
  ...inTheClear,
  data: z.strictObject({
    approvals: z.array(Approval).min(1).optional(),
    cause: ClosingCause,
    reason: z.string().min(1),
  }),
});

export const StudyReopened = defineEvent('StudyReopened', 1, {
  ...inTheClear,
  data: z.strictObject({
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    protocol: Protocol.optional(),
    reason: z.string().min(1),
  }),
});

/** For the catalogue. */
export const STATE_CHANGES = [StudyPaused, StudyResumed, StudyClosed, StudyReopened] as const;
