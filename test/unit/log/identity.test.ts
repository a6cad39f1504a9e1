import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../events/catalogue.ts';
import { decodeRecord } from '../../../events/record.ts';
import { DomainError } from '../../../src/base/errors.ts';
import type { Keyring } from '../../../src/core/log/identity.ts';
import { openIdentity } from '../../../src/core/log/identity.ts';
import { makeSigningKey, type SigningKey } from '../../../src/core/log/signing.ts';
import { logIdIn } from '../../../src/evidence/move/move-log.ts';
import { NO_STREAM } from '../../../src/store/event-store.ts';
import { MemoryStore } from '../../../src/store/memory.ts';
import { withoutFormat } from '../../support/altered-record.ts';
import { OPERATOR, stored } from '../../support/facts.ts';
import { FaultyStore } from '../../support/faulty-store.ts';
import { fixedId, fixedTools } from '../../support/fixed-tools.ts';
import { readAll } from '../../support/store-contract.ts';

/** A place for one key, as the data folder is. */
function keyring(): Keyring & { key: SigningKey | undefined } {
  return {
    key: undefined,
    load() {
      if (!this.key) throw new DomainError('identity', 'the signing key is missing');
      return this.key;
    },
    loadOrMake(logName) {
      this.key ??= makeSigningKey(logName);
      return this.key;
    },
    loadOrMakeNext: makeSigningKey,
  };
}

const open = (store: MemoryStore | FaultyStore, keys: Keyring, name?: string, series = 0) =>
  openIdentity(store, keys, name, OPERATOR, fixedTools(series));

const refusal = (says: string) => ({ code: 'identity', message: expect.stringContaining(says) });

/** A log that was begun, and its key. */
async function begun(name: string) {
  const [store, keys] = [new MemoryStore(), keyring()];
  return { store, keys, identity: await open(store, keys, name) };
}

describe('a new log', () => {
  it('begins with LogCreated: its id, its name and its public key', async () => {
    const { store, keys, identity } = await begun('trial-7');
    expect(identity).toMatchObject({ logId: fixedId(1), logName: 'trial-7', signingKey: keys.key });
    expect(identity.publicKeys).toEqual([keys.key?.publicKey]);
    const [first, ...more] = (await readAll(store)).map((record) => decodeRecord(record));
    expect(more).toEqual([]);
    const { logId, signingKey } = identity;
    const data = { format: 'urn-log@1', logId, logName: 'trial-7', publicKey: signingKey.publicKey };
    expect(first).toMatchObject({
      ...{ type: 'LogCreated', stream: 'log', revision: 0, log: logId, data, actor: OPERATOR },
    });
  });

  it.each(['', 'two words'])('is not begun with the name %j', async (name) => {
    const [store, keys] = [new MemoryStore(), keyring()];
    await expect(open(store, keys, name)).rejects.toMatchObject(refusal('cannot name a log'));
    expect(await readAll(store)).toEqual([]);
    expect(keys.key).toBeUndefined();
  });

  it('is not begun with a name other than that of its key, left by an interrupted start', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    keys.loadOrMake('before');
    await expect(open(store, keys, 'after')).rejects.toMatchObject(refusal('--log-name before'));
    expect(await readAll(store)).toEqual([]);
    expect((await open(store, keys, 'before')).logName).toBe('before');
  });

  it('is only one log if two processes begin it at once', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    const [one, two] = await Promise.all([open(store, keys, undefined, 1), open(store, keys, 'urn', 2)]);
    expect(one.logId).toBe(two.logId);
    expect(await readAll(store)).toHaveLength(1);
  });

  it('gets one of two names if two processes begin it at once, and the other process stops', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    const results = await Promise.allSettled([open(store, keys, 'a', 1), open(store, keys, 'b', 2)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const [created] = (await readAll(store)).map((record) => decodeRecord(record));
    expect(created).toMatchObject({ data: { logName: keys.key?.name, publicKey: keys.key?.publicKey } });
  });

  it('gets one of two keys if two processes begin it at once, and the other process stops', async () => {
    const store = new MemoryStore();
    const both = [1, 2].map((series) => open(store, keyring(), 'urn', series));
    const results = await Promise.allSettled(both);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toMatchObject([{ reason: refusal("the signing key is not this log's") }]);
  });

  it('is opened by the next start if its first append got no answer', async () => {
    const memory = new MemoryStore();
    const store = new FaultyStore(memory);
    const keys = keyring();
    store.next('lost-after');
    await expect(open(store, keys)).rejects.toMatchObject({ name: 'StoreError', outcome: 'unclear' });
    expect((await open(store, keys)).logName).toBe('urn');
    expect(await readAll(memory)).toHaveLength(1);
  });
});

describe('an existing log', () => {
  it('keeps its identity, whether or not its name is given', async () => {
    const { store, keys, identity } = await begun('trial-7');
    expect((await open(store, keys, undefined, 1)).logId).toBe(identity.logId);
    expect((await open(store, keys, 'trial-7', 2)).logId).toBe(identity.logId);
    expect(await readAll(store)).toHaveLength(1);
  });

  it('is not opened under another name, or with another key, even one with the same name', async () => {
    const { store, keys } = await begun('trial-7');
    const other = keyring();
    other.loadOrMake('trial-7');
    for (const [given, name, says] of [
      [keys, 'trial-8', 'named "trial-7", not "trial-8" (hint: leave out --log-name)'],
      [other, 'trial-7', 'database and key file belong together'],
    ] as const)
      await expect(open(store, given, name)).rejects.toMatchObject(refusal(says));
  });

  it('is not opened without its key, and no new key is made', async () => {
    const { store } = await begun('urn');
    const empty = keyring();
    await expect(open(store, empty)).rejects.toMatchObject({ code: 'identity' });
    expect(empty.key).toBeUndefined();
  });

  it('is not opened if its first record says that it is another log', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    const { publicKey } = keys.loadOrMake('urn');
    const data = { format: 'urn-log@1' as const, logId: fixedId(3), logName: 'urn', publicKey };
    const created: Fact = { type: 'LogCreated', data, sections: {} };
    await store.append('log', NO_STREAM, [stored(created, 0, { stream: 'log', actor: OPERATOR })]);
    await expect(open(store, keys)).rejects.toMatchObject(refusal('not its LogCreated'));
  });

  it('is refused by name if it was written before 1.0.0, and nothing is written', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    const old = withoutFormat((await readAll((await begun('urn')).store))[0]);
    await store.append('log', NO_STREAM, [old]);
    for (const opening of [open(store, keys), logIdIn(store)])
      await expect(opening).rejects.toMatchObject(refusal('written before 1.0.0; nothing was changed'));
    expect(await readAll(store)).toHaveLength(1);
    expect(keys.key).toBeUndefined();
  });

  it('is not opened if its first record was changed', async () => {
    const [store, keys] = [new MemoryStore(), keyring()];
    const nothing = Buffer.from('{}');
    await store.append('log', NO_STREAM, [{ record: nothing, sealed: nothing, leaf: Buffer.alloc(32) }]);
    await expect(open(store, keys)).rejects.toMatchObject({ name: 'RecordError', fault: 'leaf-mismatch' });
    expect(keys.key).toBeUndefined();
  });
});
