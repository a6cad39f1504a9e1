/**
 * A change to a study's design, from here on. Stream `study-<studyId>`. All of it is in the clear: sites get the amended
 * protocol anyway. No recorded allocation changes.
 */
import { z } from 'zod';
import { defineEvent } from './define.ts';
import { ImbalanceMeasure, Limits, MAX_VISITS, Ratio, Visit } from './study.ts';
import { request } from './study-state.ts';
import { Approval, Protocol } from './text.ts';

const Name = z.string().min(1);

/** Keeps ball counts exact: a million balls for each of a billion participants is below 2^53. */
export const MAX_WEIGHT = 1_000_000;
const Weight = z.int().nonnegative().max(MAX_WEIGHT);

/** What the urns count from an amendment on: as before, or nobody who was enrolled before it. */
export const History = z.enum(['keep', 'restart']);
export type History = z.infer<typeof History>;

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

const CHANGES_1 = [
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
] as const;

/** One change. What is not said stays as it is. */
export const DesignChange = z.union([
  ...CHANGES_1,
  /** All visits from here on. */
  z.strictObject({ kind: z.literal('visits'), value: z.array(Visit).max(MAX_VISITS) }),
  /** Of a closed arm: nobody on it gets packs any more, until it is reopened. */
  z.strictObject({ kind: z.literal('arm-stopped'), treatment: Name }),
]);
export type DesignChange = z.infer<typeof DesignChange>;

const amended = <C extends z.ZodType>(change: C) => ({
  stream: 'study' as const,
  data: z.strictObject({
    /** 1, 2, 3, … */
    amendment: z.int().min(1),
    /** Empty only in a test study. */
    approvals: z.array(Approval),
    /** Applied in this order. Empty only with a protocol. */
    changes: z.array(change),
    /** Absent if no change touches the urns. */
    history: History.optional(),
    protocol: Protocol.optional(),
    reason: Name,
  }),
  sections: {},
  optionalSections: request,
});
export const StudyAmended1 = defineEvent('StudyAmended', 1, amended(z.union(CHANGES_1)));
export const StudyAmended = defineEvent('StudyAmended', 2, amended(DesignChange));
export type Amendment = z.infer<typeof StudyAmended.data>;
