/**
 * What others do to single streams of a log in EventStoreDB, as its users see it: one broken stream is one broken study.
 * Runs on the server that EVENTSTOREDB_URL names if it is given; there the string names an administrator, unless the
 * server is insecure. What a scavenge removes is asked of the tests' own server alone: a real one leaves its newest
 * chunk as it is.
 */
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { EventStoreDbStore } from '../../../src/store/eventstoredb/store.ts';
import { ask, clientOf, within } from '../../support/client.ts';
import { command } from '../../support/command.ts';
import { administer, parted, streamsAs } from '../../support/eventstoredb/administrator.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { givenServer } from '../../support/eventstoredb/target.ts';
import { expectVerified, type Served, type SharedLog, sharedLogs } from '../../support/shared-logs.ts';
import { readAll } from '../../support/store-contract.ts';

const SEEN_WITHIN_MS = 15_000;

const server = await new EventStoreDbServer().start();
const there = givenServer() ?? server.connectionString();
const { url, login } = parted(there);
const streams = streamsAs(url, login);
afterAll(async () => {
  await streams.close();
  await server.stop();
});
const begin = sharedLogs();
const ADMINISTRATOR = {
  EVENTSTOREDB_URL: url,
  EVENTSTOREDB_ADMIN: login?.username ?? 'admin',
  EVENTSTOREDB_ADMIN_PASSWORD: login?.password ?? '',
};

/** A log with a participant in each study, and a running service. */
async function running(store: string) {
  const log = begin(store);
  const keys = await log.keysOf();
  const service = await log.startHere('a');
  const at = (of: Served) => clientOf(of.url, keys.work);
  const enrol = (of: Served, study: string, id: string) => at(of).randomize(study, id, LEVELS[study] ?? {});
  for (const study of Object.keys(LEVELS)) expect((await enrol(service, study, '1')).status).toBe(200);
  const one = `${log.prefix}.${await streamOfOne(log)}`;
  return { log, service, enrol, at, one };
}

const LEVELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  One: { sex: 'F' },
  Two: { sex: 'M', site: '30' },
};

async function streamOfOne({ store, prefix }: SharedLog): Promise<string> {
  const reader = new EventStoreDbStore(store, prefix);
  onTestFinished(() => reader.close());
  const one = (await readAll(reader)).find(
    ({ stream, record }) => stream.startsWith('study-') && Buffer.from(record).includes('"name":"One"'),
  );
  if (!one) throw new Error('study One has no stream');
  return one.stream;
}

const lines = ({ output }: Served, text: string) =>
  output.stderr.split('\n').filter((line) => line.includes(text));

const states = async (log: SharedLog) =>
  Object.fromEntries(
    (JSON.parse(await log.cli('studies', 'list', '--json')) as { name: string; state: string }[]).map(
      ({ name, state }) => [name, state],
    ),
  );

describe('a study whose stream was permanently deleted in EventStoreDB', () => {
  it('is refused with the reason, while all others continue, and start again', async () => {
    const { log, service, enrol, one, at } = await running(there);
    await streams.tombstone(one);
    await within(SEEN_WITHIN_MS, async () => (await at(service).list('One')).status === 503);
    expect((await enrol(service, 'One', '2')).status).toBe(503);
    expect((await enrol(service, 'Two', '2')).status).toBe(200);
    // A line of the log may wait a moment before it is written.
    await expect.poll(() => lines(service, 'cannot be read any further')).toHaveLength(1);
    expect(service.output.stderr).toMatch(/was deleted in EventStoreDB for good \(hint: restore a backup/);
    expect(service.output.stderr).not.toContain('9223372036854');
    await service.stop();

    const again = await log.startHere('a');
    expect((await at(again).list('One')).status).toBe(503);
    expect((await enrol(again, 'Two', '3')).status).toBe(200);
    expect((await at(again).list('Two')).results).toHaveLength(3);
    expect(await states(log)).toEqual({ One: 'halted', Two: 'open', Three: 'open' });
    const shown = JSON.parse((await ask(again.url, '/readyz')).text) as { message: string; status: number };
    expect(shown.status).toBe(200);
  });

  it('and scavenged is not begun again; that operations is gone stops no study', async () => {
    const { log, service, enrol, one } = await running(server.connectionString());
    await service.stop();
    for (const stream of [one, `${log.prefix}.operations`]) server.log.tombstone(stream);
    server.log.scavenge();
    const again = await log.startHere('a');
    expect((await enrol(again, 'One', '2')).status).toBe(503);
    expect((await enrol(again, 'Two', '2')).status).toBe(200);
    expect(lines(again, 'study registered')).toEqual([]);
    expect(again.output.stderr).toMatch(/operations was deleted in EventStoreDB/);
  });
});

it('a study whose records a scavenge has removed is refused with the reason, and all others start', async () => {
  const { log, service, enrol, one, at } = await running(server.connectionString());
  await service.stop();
  server.log.setMetadata(one, { $maxCount: 1 });
  server.log.scavenge();
  const again = await log.startHere('a');
  expect(again.output.stderr).toMatch(
    /records of study-\S+ are missing in EventStoreDB, from revision 0 to 0/,
  );
  expect((await at(again).list('One')).status).toBe(503);
  expect((await enrol(again, 'Two', '2')).status).toBe(200);
  await again.stop();
  const verified = await command(['verify', '--store', log.store, '--stream-prefix', log.prefix, '--json']);
  expect(verified.code, verified.stderr).toBe(1);
  const { ok, streams } = JSON.parse(verified.stdout) as { ok: boolean; streams: { sound: boolean }[] };
  expect([ok, streams.filter(({ sound }) => !sound)]).toMatchObject([
    false,
    [
      {
        stream: one.slice(log.prefix.length + 1),
        divergence: { why: expect.stringMatching(/are missing in EventStoreDB/) },
      },
    ],
  ]);
});

it.each(['log', 'access'])(
  'the missing stream %s stops everything, and the reason is given',
  async (name) => {
    const { log, service, enrol } = await running(there);
    await streams.tombstone(`${log.prefix}.${name}`);
    await within(SEEN_WITHIN_MS, async () => (await enrol(service, 'Two', '2')).status === 503);
    await service.stop();
    const again = await log.run('serve', '--port', '0');
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(`the stream ${name} was deleted in EventStoreDB for good`);
  },
);

// The kinds of metadata are in integration/store/eventstoredb-streams.test.ts.
describe('a stream whose records EventStoreDB is configured to remove', () => {
  it('accepts nothing until that is undone, while running and at the start', async () => {
    const { log, service, enrol, one, at } = await running(there);
    await streams.softDelete(one);
    await within(SEEN_WITHIN_MS, async () => lines(service, 'are in danger').length > 0);
    const refused = await enrol(service, 'One', '2');
    expect(refused.status).toBe(503);
    // The command and the stream are in the messages of the service, not in what a client gets.
    expect(refused.message).toMatch(/^Not done: records of this study are in danger/);
    expect(refused.text).not.toMatch(/eventstoredb|study-|\$/);
    expect((await enrol(service, 'Two', '2')).status).toBe(200);
    expect((await at(service).list('One')).results).toHaveLength(1);
    expect(await states(log)).toEqual({ One: 'endangered', Two: 'open', Three: 'open' });
    await service.stop();

    const again = await log.startHere('a');
    const [line = '', ...more] = lines(again, 'are in danger');
    expect([line, more]).toEqual([expect.stringMatching(/was deleted in EventStoreDB, but can still/), []]);
    expect((await enrol(again, 'One', '2')).status).toBe(503);
    const [, command = ''] = /node deploy\/eventstoredb\.mjs (keep \S+?)[;"]/.exec(line) ?? [];
    const kept = await administer(ADMINISTRATOR, ...command.split(' '));
    expect([kept.code, kept.said]).toEqual([0, expect.stringMatching(/nothing limits \S+/)]);
    await within(SEEN_WITHIN_MS, async () => (await enrol(again, 'One', '2')).status === 200);
    await within(SEEN_WITHIN_MS, async () => lines(again, 'no longer in danger').length > 0);
    expect(await states(log)).toEqual({ One: 'open', Two: 'open', Three: 'open' });
    // Of the tests' own server. It removes nothing now.
    server.log.scavenge();
    await again.stop();
    await expectVerified(log);
  });

  it('blocks only itself if it does not belong to a study, and commands say what to do', async () => {
    const { log, service, enrol } = await running(there);
    await streams.setMetadata(`${log.prefix}.access`, { $maxCount: 1 });
    await within(SEEN_WITHIN_MS, async () => lines(service, 'are in danger').length > 0);
    expect((await enrol(service, 'Two', '2')).status).toBe(200);
    const added = await log.run('keys', 'add', 'late');
    expect(added.code).toBe(2);
    expect(added.stderr).toMatch(/eventstoredb\.mjs keep \S+\.access/);
  });
});
