import { beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/evidence/verify/report/report.ts';
import {
  type VerificationOrder,
  Verifications,
  verifyInStore,
} from '../../../src/evidence/verify/verifications.ts';
import { UnknownStudyError } from '../../../src/evidence/verify/verify.ts';
import { StoreError } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { CONFIGURATION } from '../../support/facts.ts';
import { enrol, HISTORY, type Log, logOf, STUDY, streamOf, verify } from './support.ts';

const ORDER: VerificationOrder = { study: CONFIGURATION.name };
const forever = () => new AbortController().signal;
let log: Log;
let store: MemoryStore;

beforeEach(async () => {
  log = logOf(HISTORY);
  store = new MemoryStore();
  for (const [stream, records] of log.byStream) await store.append(stream, -1, records);
});

const ignore = () => undefined;
const withoutTime = ({ seconds: _, ...report }: Report) => report;

describe('within a store,', () => {
  it('a study is verified as urn verify does without a trusted key', async () => {
    const { note } = log.checkpoint(STUDY, 5);
    const report = await verifyInStore(store)({ ...ORDER, checkpoint: note }, forever(), ignore);
    expect(withoutTime(report)).toEqual(
      withoutTime(
        await verify(log, {
          trusted: [],
          checkpoints: [{ ...log.checkpoint(STUDY, 5), where: 'checkpoint' }],
          studies: [CONFIGURATION.name],
        }),
      ),
    );
    expect(report).toMatchObject({ ok: true, selfConsistentOnly: true });
    expect(streamOf(report).evidence).toMatchObject({ matching: 1, matchingSize: 5 });
  });

  it('records appended meanwhile are left out', async () => {
    const more = logOf([...HISTORY, enrol(7)]).of(STUDY);
    const verifying = verifyInStore(store)(ORDER, forever(), ignore);
    await new Promise(setImmediate);
    expect(await store.append(STUDY, more.length - 2, more.slice(-1))).toEqual({ type: 'written' });
    expect(streamOf(await verifying)).toMatchObject({ sound: true, records: HISTORY.length });
  });
});

describe('within the service,', () => {
  it('one verification runs at a time, and another may follow it', async () => {
    const verifications = new Verifications(verifyInStore(store));
    const first = verifications.run(ORDER, forever());
    await expect(verifications.run(ORDER, forever())).rejects.toMatchObject({ code: 'overloaded' });
    expect((await first).ok).toBe(true);
    expect((await verifications.run(ORDER, forever())).ok).toBe(true);
  });

  it('the progress of a verification is known while it runs, and only for its study', async () => {
    const seen: (number | undefined)[] = [];
    const verifications: Verifications = new Verifications((order, stop, onProgress) =>
      verifyInStore(store)(order, stop, (records) => {
        onProgress(records);
        seen.push(verifications.progressOf(ORDER.study), verifications.progressOf('another'));
      }),
    );
    expect(verifications.progressOf(ORDER.study)).toBeUndefined();
    await verifications.run(ORDER, forever());
    const all = [...log.byStream.values()].flat().length;
    expect(seen.slice(-2)).toEqual([all, undefined]);
    expect(verifications.progressOf(ORDER.study)).toBeUndefined();
  });

  it('a verification ends if nobody waits for it any more, and makes room', async () => {
    const verifications = new Verifications(verifyInStore(store));
    const asker = new AbortController();
    const left = verifications.run(ORDER, asker.signal);
    asker.abort();
    await expect(left).rejects.toMatchObject({ code: 'unavailable' });
    expect((await verifications.run(ORDER, forever())).ok).toBe(true);
  });

  it('a verification is aborted when the service stops, and no other is started', async () => {
    const verifications = new Verifications(verifyInStore(store));
    const under = verifications.run(ORDER, forever());
    const told = expect(under).rejects.toMatchObject({ code: 'unavailable' });
    await verifications.stop();
    await told;
    await expect(verifications.run(ORDER, forever())).rejects.toMatchObject({ code: 'unavailable' });
    await verifications.stop();
  });

  it.each([
    ['unavailable', new StoreError('busy', 'not-written', '/srv/urn.sqlite is busy')],
    ['halted', new StoreError('corrupt', 'not-written', '/srv/urn.sqlite is damaged')],
    ['halted', new UnknownStudyError(CONFIGURATION.name)],
  ])('a log that cannot be read is %s, and its file is not named', async (code, error) => {
    const verifications = new Verifications(() => Promise.reject(error));
    const failure = await verifications.run(ORDER, forever()).catch((thrown) => thrown);
    expect(failure).toMatchObject({ code });
    expect(failure.message).not.toContain('/srv');
  });

  it('a programming error is passed on unchanged', async () => {
    const fault = new TypeError('a fault');
    const verifications = new Verifications(() => Promise.reject(fault));
    await expect(verifications.run(ORDER, forever())).rejects.toBe(fault);
  });
});
