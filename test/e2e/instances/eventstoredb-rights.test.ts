/** A user of EventStoreDB that cannot delete: it runs the service, and is denied what could harm the log. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { clientOf } from '../../support/client.ts';
import { eventStoreDbLogs, expectVerified } from '../../support/eventstoredb/instances.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ADMINISTRATION = fileURLToPath(new URL('../../../deploy/eventstoredb.mjs', import.meta.url));
const ADMIN = { username: 'admin', password: 'changeit' };
const USER = { username: 'urn', password: 'p@ss:word' };

const temporaryFolder = temporaryFolders();
const begin = eventStoreDbLogs();
const opened: EventStoreDbServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop();
});

/** A server with TLS and one administrator, in its original state. */
async function secured() {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const made = ['-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost'];
  execFileSync('openssl', [...request, ...made, '-addext', 'subjectAltName=DNS:localhost'], {
    stdio: 'ignore',
  });
  const tls = { key: readFileSync(key), cert: readFileSync(cert) };
  const server = await new EventStoreDbServer({ tls, credentials: ADMIN }).start();
  opened.push(server);
  const administer = async (env: Readonly<Record<string, string>>, ...args: string[]) => {
    const url = `esdb://localhost:${server.port}?tlsCAFile=${encodeURIComponent(cert)}`;
    const child = spawn(process.execPath, [ADMINISTRATION, ...args], {
      env: { ...process.env, EVENTSTOREDB_URL: url, ...env },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    const [code] = await once(child, 'close');
    return { code, said };
  };
  return { server, cert, tls, administer };
}

type Server = Awaited<ReturnType<typeof secured>>;

/** What the server answers to a user's deletion, tombstone and metadata of a stream. */
async function attacks({ server, cert }: Server, user: typeof USER, stream: string) {
  const security = credentials.createSsl(readFileSync(cert));
  const client = new streamsService.StreamsClient(`localhost:${server.port}`, security);
  const metadata = new Metadata();
  metadata.set(
    'authorization',
    `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`,
  );
  const named = (name: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(name));
  const any = new shared.Empty();
  const outcome = (make: (answer: (error: ServiceError | null) => void) => void) =>
    new Promise<string>((resolve) => make((error) => resolve(error?.details ?? 'done')));
  try {
    const { DeleteReq, TombstoneReq, AppendReq } = streams;
    const deletion = new DeleteReq().setOptions(
      new DeleteReq.Options().setStreamIdentifier(named(stream)).setAny(any),
    );
    const tombstone = new TombstoneReq().setOptions(
      new TombstoneReq.Options().setStreamIdentifier(named(stream)).setAny(any),
    );
    return [
      await outcome((answer) => client.delete(deletion, metadata, answer)),
      await outcome((answer) => client.tombstone(tombstone, metadata, answer)),
      await outcome((answer) => {
        const call = client.append(metadata, answer);
        const options = new AppendReq.Options().setStreamIdentifier(named(`$$${stream}`)).setAny(any);
        call.write(new AppendReq().setOptions(options));
        call.end();
      }),
    ];
  } finally {
    client.close();
  }
}

it('a user without the right to delete is created by the script in deploy/, runs the service, and is denied the rest', async () => {
  const there = await secured();
  const { server, cert, administer } = there;
  const withPasswords = { EVENTSTOREDB_ADMIN_PASSWORD: ADMIN.password, URN_PASSWORD: USER.password };
  const made = await administer(withPasswords, 'rights', USER.username);
  expect([made.code, made.said]).toEqual([0, expect.stringContaining('created the user urn')]);
  // Once more for another user, and for the same: nobody loses anything.
  expect((await administer({ ...withPasswords, URN_PASSWORD: 'other' }, 'rights', 'relay')).code).toBe(0);
  expect((await administer(withPasswords, 'rights', USER.username)).said).toContain(
    'its password was not changed',
  );

  const log = begin(server.connectionString({ tlsCAFile: cert }, USER));
  const keys = await log.keysOf();
  const service = await log.start('a');
  const enrol = (id: string) => clientOf(service.url, keys.work).randomize('One', id, { sex: 'F' });
  expect((await enrol('1')).status).toBe(200);
  const stream = `${log.prefix}.log`;
  expect(await attacks(there, USER, stream)).toEqual(Array(3).fill('Access Denied'));
  expect((await enrol('2')).status).toBe(200);
  await service.stop();
  await expectVerified(log);
  expect(service.output.stderr).not.toMatch(/are in danger|p@ss|changeit/);
});

it('a user without permissions is told what to do, and where that is documented', async () => {
  const { server, cert, administer } = await secured();
  const withPasswords = { EVENTSTOREDB_ADMIN_PASSWORD: ADMIN.password, URN_PASSWORD: USER.password };
  expect((await administer(withPasswords, 'rights', 'somebody')).code).toBe(0);
  const log = begin(
    server.connectionString({ tlsCAFile: cert }, { username: 'somebody-else', password: 'x' }),
  );
  const refused = log.tryToStart('a');
  expect(await refused.exited).toBe(2);
  expect(refused.output.stderr).toMatch(/eventstoredb\.mjs rights USER.*docs\/instances\.md/);
  const wrong = await administer({ ...withPasswords, EVENTSTOREDB_ADMIN_PASSWORD: 'guessed' }, 'rights', 'x');
  expect([wrong.code, wrong.said]).toEqual([1, expect.not.stringContaining('guessed')]);
});
