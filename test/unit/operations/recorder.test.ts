/** What the service records of its operation: how often, repetitions as sums, and in which words it is told. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecord, type LogEvent } from '../../../events/record.ts';
import { Runner } from '../../../projections/runner.ts';
import { DomainError } from '../../../src/base/errors.ts';
import { describeOperation, studyOf } from '../../../src/service/operations/operation.ts';
import { Operations } from '../../../src/service/operations/operations-stream.ts';
import {
  EVENTS_AN_HOUR,
  type KeyActor,
  type Occurrence,
  once,
  Recorder,
  Repetitions,
} from '../../../src/service/operations/recorder.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { event, OPERATOR, paused } from '../../support/facts.ts';
import { FaultyStore } from '../../support/faulty-store.ts';
import { fixedTools, LOG_ID } from '../../support/fixed-tools.ts';
import { check } from '../../support/property.ts';
import { frozenSample } from '../../support/samples.ts';
import { readStream } from '../../support/store-contract.ts';

const SITE: KeyActor = { keyId: 'k0011', user: 'site', accessRevision: 3 };
const AUDITOR: KeyActor = { keyId: 'k0022', user: 'auditor', accessRevision: 3 };
const DUPLICATE = { operation: 'POST /study_participants', study: 'A', reason: 'duplicate' } as const;
const explanation = (participant: string) => ({ what: 'explanation', study: 'A', participant }) as const;
const RUN = { runId: expect.any(String), version: '1.2.3', nodeVersion: process.version };
const at = (ms: number) => new Date(1.8e12 + ms).toISOString();

function scene(refusal?: DomainError) {
  const memory = new MemoryStore();
  const store = new FaultyStore(memory);
  const runner = new Runner(store, LOG_ID, []);
  const gate = { refusal: () => refusal };
  const operations = new Operations({ store, logId: LOG_ID, runner, gate, tools: fixedTools(1) });
  const clock = { time: 0, at: () => at(clock.time), ms: () => clock.time };
  const failures: string[] = [];
  const recorder = new Recorder({
    operations,
    actor: OPERATOR,
    version: '1.2.3',
    clock,
    onFailure: ({ type }, _, error) => failures.push(`${type}: ${error.message}`),
  });
  const events = async () => (await readStream(memory, 'operations')).map((one) => decodeRecord(one));
  const counts = async (type: LogEvent['type']) =>
    (await events())
      .filter((event) => event.type === type)
      .map(({ data }) => (data as { count: number }).count);
  return { store, recorder, clock, failures, events, counts, operations };
}

describe('a run of the service', () => {
  it('is recorded with the version of the software when it starts and when it stops', async () => {
    const { recorder, events } = scene();
    await recorder.start();
    await recorder.stop();
    const [started, stopped, ...others] = await events();
    expect(started).toMatchObject({ type: 'ServiceStarted', revision: 0, actor: OPERATOR, data: RUN });
    expect(stopped).toMatchObject({ type: 'ServiceStopped', revision: 1, actor: OPERATOR });
    expect(stopped?.data).toEqual(started?.data);
    expect(others).toEqual([]);
  });

  it.each([
    ['records it later', 'none', true],
    ['records it with its end', 'none', false],
    ['has no end without a start, which would look like a removed record', 'full', false],
  ] as const)('continues if its start cannot be recorded, and %s', async (_, then, isTicking) => {
    const { recorder, store, failures, events } = scene();
    store.always = 'full';
    await recorder.start();
    expect(failures.length).toBe(1);
    store.always = then;
    if (isTicking) recorder.tick();
    await recorder.stop();
    const both = then === 'none' ? ['ServiceStarted', 'ServiceStopped'] : [];
    expect((await events()).map(({ type }) => type)).toEqual(both);
  });
});

describe('a refusal', () => {
  it('is recorded at once, and 2,000 in a minute make two events', async () => {
    const { recorder, clock, events, operations } = scene();
    await recorder.start();
    for (clock.time = 0; clock.time < 2000; clock.time++) recorder.refused(SITE, DUPLICATE);
    await operations.drain();
    const once = { ...DUPLICATE, count: 1, firstAt: at(0), lastAt: at(0) };
    expect((await events()).slice(1)).toMatchObject([{ type: 'RequestRefused', actor: SITE, data: once }]);
    for (clock.time of [59_999, 60_000, 60_000]) {
      recorder.tick();
      await operations.drain();
      expect(await events()).toHaveLength(clock.time < 60_000 ? 2 : 3);
    }
    const sum = { ...DUPLICATE, count: 1999, firstAt: at(1), lastAt: at(1999) };
    expect((await events()).slice(1).map(({ data }) => data)).toEqual([once, sum]);
  });

  it('is counted exactly when the service stops, even if the disk was full in between', async () => {
    const { recorder, store, clock, counts, failures } = scene();
    await recorder.start();
    for (let n = 0; n < 100; n++) {
      store.always = n % 3 === 0 ? 'none' : 'full';
      clock.time += 7000;
      recorder.refused(SITE, DUPLICATE);
      recorder.refused(AUDITOR, { operation: `GET /${n % 5}`, reason: 'not-permitted' });
      recorder.tick();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    store.always = 'none';
    await recorder.stop();
    expect(failures.length).toBeGreaterThan(0);
    expect((await counts('RequestRefused')).reduce((sum, count) => sum + count, 0)).toBe(200);
  });
});

describe('a disclosure', () => {
  it('is in the log before the data is sent, and counted when it is repeated', async () => {
    const { recorder, clock, counts, events, operations } = scene();
    await recorder.disclosed(AUDITOR, explanation('001'));
    expect(await events()).toMatchObject([
      { type: 'EvidenceDisclosed', actor: AUDITOR, data: { ...explanation('001'), count: 1 } },
    ]);
    for (let n = 0; n < 49; n++) await recorder.disclosed(AUDITOR, explanation('001'));
    expect(await counts('EvidenceDisclosed')).toEqual([1]);
    clock.time = 60_000;
    recorder.tick();
    await operations.drain();
    expect(await counts('EvidenceDisclosed')).toEqual([1, 49]);
    await recorder.disclosed(AUDITOR, explanation('001'));
    await recorder.stop();
    expect(await counts('EvidenceDisclosed')).toEqual([1, 49, 1]);
  });

  it('waits for the disclosure that it repeats', async () => {
    const { recorder, store, counts } = scene();
    const sending: (() => void)[] = [];
    const isSent = new Promise<void>((resolve) => sending.push(resolve));
    store.next(async (append) => {
      await isSent;
      return append();
    });
    const answered: number[] = [];
    const two = [1, 2].map(async (n) => {
      await recorder.disclosed(AUDITOR, explanation('001'));
      answered.push(n);
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(answered).toEqual([]);
    for (const send of sending) send();
    await Promise.all(two);
    expect(answered).toEqual([1, 2]);
    await recorder.stop();
    expect(await counts('EvidenceDisclosed')).toEqual([1, 1]);
  });

  it('is neither made nor counted if it cannot be recorded', async () => {
    const { recorder, store, counts, failures } = scene();
    store.always = 'full';
    const refused = expect.objectContaining({ name: 'DomainError', code: 'unavailable' });
    const tries = [1, 2].map(() => recorder.disclosed(AUDITOR, explanation('001')));
    for (const one of await Promise.allSettled(tries))
      expect(one).toEqual({ status: 'rejected', reason: refused });
    expect(failures).toEqual([expect.stringMatching(/^EvidenceDisclosed: /)]);
    store.always = 'none';
    await recorder.disclosed(AUDITOR, explanation('001'));
    await recorder.stop();
    expect(await counts('EvidenceDisclosed')).toEqual([1]);
  });

  it('that must always be shown and cannot be recorded does not look as if nothing had been done', async () => {
    for (const code of ['overloaded', 'moved'] as const) {
      const { recorder } = scene(new DomainError(code, 'nothing was recorded'));
      await expect(recorder.disclosedAlways(AUDITOR, explanation('001'))).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/; what you asked for is recorded, /),
      });
    }
  });

  it('of a rolled-back log is made, and logged by the service', async () => {
    const refusal = new DomainError('rolled-back', 'the log is not the one that it was');
    const { recorder, failures, events } = scene(refusal);
    await recorder.disclosed(AUDITOR, explanation('001'));
    recorder.refused(SITE, DUPLICATE);
    await recorder.stop();
    expect(await events()).toEqual([]);
    expect(failures).toEqual([
      'EvidenceDisclosed: the log is not the one that it was',
      'RequestRefused: the log is not the one that it was',
      'ServiceStarted: the log is not the one that it was',
    ]);
  });
});

describe('within an hour, for one key,', () => {
  const HOUR = 3_600_000;
  const DISCLOSURES = EVENTS_AN_HOUR.EvidenceDisclosed;
  const REFUSALS = EVENTS_AN_HOUR.RequestRefused;
  const refuse = (n: number) => ({ operation: `GET /${n}`, reason: 'not-permitted' }) as const;
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  /** Makes so many disclosures, each of another participant. @returns how many were made */
  const disclose = async (recorder: Recorder, number: number, from = 0, actor = AUDITOR) => {
    const all = Array.from({ length: number }, (_, n) =>
      recorder.disclosed(actor, explanation(`${from + n}`)),
    );
    const settled = await Promise.allSettled(all);
    for (const one of settled)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ name: 'BudgetError' });
    return settled.filter(({ status }) => status === 'fulfilled').length;
  };

  it('600 disclosures are made, and no more until the hour is over', async () => {
    const { recorder, clock, counts } = scene();
    expect(await disclose(recorder, DISCLOSURES + 100)).toBe(DISCLOSURES);
    expect(sum(await counts('EvidenceDisclosed'))).toBe(DISCLOSURES);
    clock.time = HOUR - 1;
    await expect(recorder.disclosed(AUDITOR, explanation('late'))).rejects.toMatchObject({ renewsInMs: 1 });
    clock.time = HOUR;
    expect(await disclose(recorder, 1, 5000)).toBe(1);
  });

  it('refusals never use up the budget for reading, nor the reverse, nor one key that of another', async () => {
    const { recorder, counts } = scene();
    for (let n = 0; n < 1000; n++) recorder.refused(AUDITOR, refuse(n));
    expect(await disclose(recorder, 1000)).toBe(DISCLOSURES);
    for (let n = 0; n < 1000; n++) recorder.refused(AUDITOR, refuse(n));
    recorder.refused(SITE, refuse(1));
    expect(await disclose(recorder, 1, 0, SITE)).toBe(1);
    await recorder.stop();
    expect(sum(await counts('EvidenceDisclosed'))).toBe(DISCLOSURES + 1);
    expect(sum(await counts('RequestRefused'))).toBe(2001);
  });

  it('ever-changing refusals make a bounded number of events, and all of them are counted', async () => {
    const { recorder, clock, counts, events, operations } = scene();
    const ways = 5000;
    for (let n = 0; n < ways; n++) {
      clock.time = Math.floor((n / ways) * HOUR);
      recorder.refused(SITE, refuse(n));
      // And one again and again, which takes no more than the others.
      recorder.refused(SITE, refuse(-1));
      recorder.tick();
      if (n % 500 === 0) await operations.drain();
    }
    await recorder.stop();
    const written = await counts('RequestRefused');
    expect(sum(written)).toBe(2 * ways);
    expect(written.length).toBeGreaterThan(REFUSALS);
    expect(written.length).toBeLessThan(REFUSALS + 10);
    const several = (await events()).filter(
      (event) => (event.data as { reason?: string }).reason === 'several',
    );
    expect(several[0]).toMatchObject({ actor: SITE, data: { reason: 'several' } });
    expect(several[0]?.data).not.toHaveProperty('operation');
  });

  it('disclosures that could not be recorded, and so were not made, cost nothing', async () => {
    const { recorder, store, counts } = scene();
    store.always = 'full';
    for (let n = 0; n < DISCLOSURES + 1; n++)
      await expect(recorder.disclosed(AUDITOR, explanation('001'))).rejects.toMatchObject({
        code: 'unavailable',
      });
    store.always = 'none';
    expect(await disclose(recorder, DISCLOSURES)).toBe(DISCLOSURES);
    expect((await counts('EvidenceDisclosed')).length).toBe(DISCLOSURES);
  });

  it('data that must always be shown is shown beyond the budget, which it does not use up', async () => {
    const { recorder, counts } = scene();
    for (let n = 0; n < 5; n++) await recorder.disclosedAlways(AUDITOR, explanation(`always ${n}`));
    expect(await disclose(recorder, 1000)).toBe(DISCLOSURES);
    for (let n = 0; n < 5; n++) await recorder.disclosedAlways(AUDITOR, explanation('emergency'));
    expect(await disclose(recorder, 1, 5000)).toBe(0);
    await recorder.stop();
    expect((await counts('EvidenceDisclosed')).length).toBe(DISCLOSURES + 10);
  });
});

const WINDOW = 60_000;
const occurred = (kind: string, ms: number): Occurrence<string> => ({
  kind,
  what: kind,
  tally: once(at(ms)),
});

/** @param events that can be paid for */
function counting(events = Number.POSITIVE_INFINITY) {
  const repetitions = new Repetitions<string>(() => WINDOW);
  let left = events;
  const pay = () => left-- > 0;
  const note = (kind: string, ms: number) => repetitions.note(occurred(kind, ms), ms, pay);
  return { repetitions, note };
}

describe('a repeated operation', () => {
  it('is reported at once again after a window without it, and apart from other kinds', () => {
    const { repetitions, note } = counting();
    expect([note('a', 0), note('b', 0)]).toEqual(['first', 'first']);
    note('b', 1);
    expect(repetitions.all().map(({ kind }) => kind)).toEqual(['b']);
    repetitions.due(60_000);
    expect(note('a', 61_000)).toBe('first');
  });

  it('is added to later ones if it could not be written', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    note('a', 5);
    repetitions.giveBack(occurred('a', 0), 10);
    const tally = { count: 2, firstAt: at(0), lastAt: at(5) };
    expect(repetitions.due(59_999)).toEqual([]);
    expect(repetitions.due(60_010)).toEqual([{ kind: 'a', what: 'a', tally }]);
  });

  it('is counted exactly, in any sequence of events', () => {
    const happening = fc.record({
      kind: fc.constantFrom('a', 'b', 'c'),
      pause: fc.nat(90_000),
      fails: fc.boolean(),
    });
    check(
      fc.property(fc.array(happening, { maxLength: 200 }), (happenings) => {
        const { repetitions, note } = counting();
        const written = new Map<string, number>();
        let ms = 0;
        const write = (sums: readonly Occurrence<string>[], fails: boolean) => {
          for (const sum of sums)
            if (fails) repetitions.giveBack(sum, ms);
            else written.set(sum.kind, (written.get(sum.kind) ?? 0) + sum.tally.count);
        };
        for (const { kind, pause, fails } of happenings) {
          ms += pause;
          write(repetitions.due(ms), fails);
          if (note(kind, ms) === 'first') write([occurred(kind, ms)], fails);
        }
        write(repetitions.all(), false);
        for (const kind of ['a', 'b', 'c'])
          expect(written.get(kind) ?? 0).toBe(happenings.filter((one) => one.kind === kind).length);
      }),
    );
  });

  it('is reported as over budget beyond it, and each event is charged once', () => {
    const { repetitions, note } = counting(3);
    expect([note('a', 0), note('b', 0)]).toEqual(['first', 'first']);
    // The sum of the window costs one event, however much is in it.
    expect([note('a', 1), note('a', 2), note('a', 3)]).toEqual(['counted', 'counted', 'counted']);
    expect([note('b', 4), note('c', 5)]).toEqual(['unpaid', 'unpaid']);
    expect(repetitions.due(WINDOW).map(({ kind, tally }) => [kind, tally.count])).toEqual([['a', 3]]);
    expect(note('a', WINDOW)).toBe('unpaid');
  });

  it('is refunded when it is forgotten', () => {
    const { repetitions, note } = counting();
    note('a', 0);
    expect(repetitions.forget('a')).toBe(1);
    expect(note('a', 1)).toBe('first');
    note('a', 2);
    expect(repetitions.forget('a')).toBe(2);
  });
});

const said = (name: string) => describeOperation(decodeRecord(frozenSample(`${name}@1`)));

describe('the description of an operation', () => {
  it('says when it happened, who did it and what it was', () => {
    const samples = ['ServiceStarted', 'RequestRefused', 'EvidenceDisclosed', 'ServiceStopped'];
    expect([...samples, 'SessionBegan', 'SessionEnded'].map(said)).toEqual([
      '2026-02-20T14:03:10.007Z  trial-ops (command line)  started the service version 0.1.0 on Node v20.20.0 (run 7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4)',
      '2026-02-21T08:17:01.330Z  site-11 (k5f1c09ab34d2)  was refused POST /study_participants of CHS JCOIN: the participant is assigned already; 1999 times, from 2026-02-21T08:16:01.298Z to 2026-02-21T08:17:00.911Z',
      '2026-03-16T10:30:05.518Z  auditor (k8d20e7713fa9)  was shown the explanation of participant 001-0001 of CHS JCOIN',
      '2026-04-30T18:00:00.250Z  trial-ops (command line)  stopped the service version 0.1.0 on Node v20.20.0 (run 7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4)',
      '2026-11-23T07:58:00.000Z  site-11 (k5f1c09ab34d2)  signed in (session yzObQH5PXuXXhAOEv8oClw)',
      '2026-11-23T16:02:00.000Z  site-11 (k5f1c09ab34d2)  signed out (session yzObQH5PXuXXhAOEv8oClw)',
    ]);
  });

  const sha256 = 'ab'.repeat(32);
  const test = { what: 'rerandomization', toRevision: 9, sha256 } as const;
  it.each([
    [{ what: 'balance', toRevision: 7 }, 'the balance up to revision 7 of A'],
    [{ what: 'records', fromRevision: 0, toRevision: 249 }, 'the records 0 to 249 of A'],
    [{ what: 'records', fromRevision: 3, content: 'open' }, 'a feed of the records from 3 on (open) of A'],
    [{ what: 'seed' }, 'the seed of A'],
    [{ what: 'codes', toRevision: 9 }, 'which treatment packs hold up to revision 9 of A'],
    [{ what: 'generator-states', toRevision: 9 }, 'states of the generator up to revision 9 of A'],
    [{ what: 'bundle', content: 'full', sha256 }, `a bundle (full, SHA-256 ${sha256}) of A`],
    [
      { ...test, interim: 'asked by the DMC' },
      `a re-randomization test up to revision 9 (outcomes with SHA-256 ${sha256}), as an interim look (asked by the DMC) of A`,
    ],
    [test, `a re-randomization test up to revision 9 (outcomes with SHA-256 ${sha256}) of A`],
    [{ what: 'export', content: 'open', toRevision: 9 }, 'an export up to revision 9 (open) of A'],
    [
      { what: 'export', content: 'blinded', toRevision: 9, sha256 },
      `an export up to revision 9 (blinded, SHA-256 ${sha256}) of A`,
    ],
  ] as const)('%o', (about, words) => {
    const at = '2026-03-01T09:00:00.000Z';
    const data = { ...about, study: 'A', count: 1, firstAt: at, lastAt: at };
    const one = event({ type: 'EvidenceDisclosed', data, sections: {} }, 0, { stream: 'operations' });
    expect(describeOperation(one)).toBe(`${at}  nurse (k0011)  was shown ${words}`);
    expect(studyOf(one)).toBe('A');
  });

  it('gives the time of an operation that was written later', () => {
    const at = '2026-03-01T08:59:10.000Z';
    const data = { reason: 'several', count: 1, firstAt: at, lastAt: at } as const;
    const one = event({ type: 'RequestRefused', data, sections: {} }, 0, { stream: 'operations' });
    expect(describeOperation(one)).toContain(
      `was refused requests: for several reasons, beyond what is recorded one by one; once, at ${at}`,
    );
    expect(studyOf(one)).toBeUndefined();
  });

  it('contains nothing that a terminal obeys, and is refused for an event of another stream', () => {
    const run = { runId: '7c1f2f0e-5b0a-4d0c-9a53-0b1de2f6a8c4', version: '1\u001b[2J', nodeVersion: 'v20' };
    const one = event({ type: 'ServiceStarted', data: run, sections: {} }, 0, { actor: OPERATOR });
    expect(describeOperation(one)).toContain('version 1 [2J on');
    expect(() => describeOperation(event(paused, 3))).toThrow('does not belong');
  });
});
