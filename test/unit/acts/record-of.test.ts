/** Where the members of an act stand in its record. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AllocationReinstated } from '../../../events/corrections.ts';
import { defineEvent } from '../../../events/define.ts';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { StudyPaused } from '../../../events/study-state.ts';
import { aboutParticipant, type Permit, participantAct, studyAct } from '../../../src/core/acts/act.ts';
import { ACT_NAMES, actOf } from '../../../src/core/acts/acts.ts';
import { factOf, membersOf, placesOf } from '../../../src/core/acts/record-of.ts';
import { Note } from '../../../src/core/model/members.ts';
import { frozenSamples } from '../../support/samples.ts';

const may: Permit = { scopes: ['correct'], commandLine: true, in: ['open'] };

/** Every sample of an act, without salts, and with the idempotency key of its request. */
const samples = frozenSamples().flatMap((sample) => {
  const event = decodeRecord(sample);
  const act = actOf(event.type);
  if (!act) return [];
  const sections = Object.entries<object>(event.sections).map(([name, section]) => {
    const { salt: _, ...members } = section as { readonly salt: string };
    return [name, members];
  });
  const unsalted = { ...event, sections: Object.fromEntries(sections) } as LogEvent;
  return [{ name: sample.name, event: unsalted, writes: act.writes, key: keyOf(event) }];
});

function keyOf({ sections }: Pick<LogEvent, 'sections'>): string | undefined {
  return (sections as { request?: { idempotencyKey: string } }).request?.idempotencyKey;
}

describe('a member of an act', () => {
  it('must have a place in the record, or the program does not start', () => {
    const about = { writes: AllocationReinstated, may, asks: aboutParticipant };
    expect(() => participantAct(about)).not.toThrow();
    expect(() => participantAct({ ...about, asks: { ...aboutParticipant, cause: z.string() } })).toThrow(
      'AllocationReinstated has no member cause',
    );
    expect(() => participantAct({ ...about, brings: ['cause' as never] })).toThrow('no member cause');
    const chooses = {
      ...{ members: ['by' as never], none: () => ({ type: 'no-code' }) as const, problem: () => undefined },
      ...{ lacks: () => false, choose: () => undefined },
    };
    expect(() => participantAct({ ...about, chooses })).toThrow('no member by');
    const NO_NOTE = 'StudyPaused has no member note';
    expect(() => studyAct({ writes: StudyPaused, may, asks: { note: Note } })).toThrow(NO_NOTE);
    expect(() => factOf(StudyPaused, { reason: 'review', note: 'slip' }, undefined)).toThrow(NO_NOTE);
  });

  it('stands in one place: an event cannot have two of one name', () => {
    const parts = { stream: 'study', data: z.strictObject({ note: z.string() }), sections: {} } as const;
    const inTwo = defineEvent('InTwo', 1, { ...parts, optionalSections: { note: { text: z.string() } } });
    expect(() => placesOf(inTwo)).toThrow('InTwo has two members note');
    const grounds = { reason: z.string() };
    const sealedTwice = defineEvent('SealedTwice', 1, {
      ...parts,
      optionalSections: { grounds, withdrawn: grounds },
    });
    expect(() => placesOf(sealedTwice)).toThrow('SealedTwice has two members reason');
  });
});

describe('the record of an act', () => {
  it('has its members in the order of their names, in which a replay reports what differs', () => {
    const members = { voidedAt: 5, note: 'slip', randomizedAt: 1, participantId: 'a' };
    const { data, sections } = factOf(AllocationReinstated, members, 'k');
    expect(Object.keys(data)).toEqual(['participantId', 'randomizedAt', 'voidedAt']);
    expect(Object.keys(sections)).toEqual(['note', 'request']);
  });

  it('has a sample of each act', () => {
    const types = samples.map(({ event }) => event.type);
    expect(types).toEqual(expect.arrayContaining(ACT_NAMES));
  });

  it.each(samples)('is made of the members into which it is taken apart: $name', (sample) => {
    const { event, writes, key } = sample;
    const { type, data, sections } = event;
    const members = membersOf(writes, event);
    const fact = factOf(writes, members, key);
    expect(fact).toEqual({ type, data, sections });
    expect(membersOf(writes, fact)).toEqual(members);
    // Nothing is taken for a member of another name, and nothing is left out.
    const parts = { ...sections, data } as Record<string, object>;
    const inRecord = Object.entries(parts).flatMap(([part, one]) =>
      part === 'request' ? [] : Object.values(one),
    );
    const given = Object.values(members).filter((value) => value !== undefined);
    expect(given).toHaveLength(inRecord.length);
    expect(given).toEqual(expect.arrayContaining(inRecord));
  });

  it.each(samples)('has no members of sections that are withheld: $name', ({ event, writes }) => {
    const inClear = membersOf(writes, { data: event.data, sections: {} } as never);
    for (const [name, { part }] of placesOf(writes))
      expect(inClear[name], name).toEqual(part === 'data' ? membersOf(writes, event)[name] : undefined);
  });
});
