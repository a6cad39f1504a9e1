/**
 * A user of EventStoreDB that cannot delete: it runs the service, and is denied what could harm the log. Runs on the server
 * that EVENTSTOREDB_URL names if that has TLS and the string an administrator, which changes who may do what there.
 */
import { expect, it, onTestFinished } from 'vitest';
import { makeCertificate } from '../../support/certificate.ts';
import { clientOf } from '../../support/client.ts';
import { administer, type Login, parted, streamsAs } from '../../support/eventstoredb/administrator.ts';
import { EventStoreDbServer } from '../../support/eventstoredb/server.ts';
import { givenServer } from '../../support/eventstoredb/target.ts';
import { expectVerified, sharedLogs } from '../../support/shared-logs.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const ADMIN = { username: 'admin', password: 'changeit' };
/** A real server keeps its users from run to run. */
const USER = { username: `urn-test-${Date.now()}`, password: 'p@ss:word' };

const newFolder = temporaryFolders();
const begin = sharedLogs();

/** A server with TLS and an administrator. The one of the tests is in its original state. */
async function secured() {
  const given = parted(givenServer() ?? '');
  // A server that runs insecure has no users, so there is nothing to ask of it.
  const isReal = given.login !== undefined && !given.url.includes('tls=false');
  const { url, login = ADMIN } = isReal ? given : parted(await securedHere());
  const env = {
    EVENTSTOREDB_URL: url,
    EVENTSTOREDB_ADMIN: login.username,
    EVENTSTOREDB_ADMIN_PASSWORD: login.password,
    URN_PASSWORD: USER.password,
  };
  const as = ({ username, password }: Login) =>
    url.replace('://', `://${encodeURIComponent(username)}:${encodeURIComponent(password)}@`);
  return { url, env, as, admin: login };
}

/** @returns the connection string of a server of the tests */
async function securedHere(): Promise<string> {
  const { certFile, tls } = makeCertificate(newFolder(), 'DNS:localhost');
  const server = await new EventStoreDbServer({ tls, credentials: ADMIN }).start();
  onTestFinished(() => server.stop());
  return server.connectionString({ tlsCAFile: certFile });
}

it('a user without the right to delete is created by the script in deploy/, runs the service, and is denied the rest', async () => {
  const { url, env, as, admin } = await secured();
  // Once more for the same, and for another user: nobody loses anything.
  for (const [password, said] of [
    [USER.password, 'exists, with the password in URN_PASSWORD'],
    [USER.password, 'exists, with the password in URN_PASSWORD'],
    ['other', 'existed before with another password, which was not changed'],
  ] as const) {
    const made = await administer({ ...env, URN_PASSWORD: password }, 'rights', USER.username);
    expect([made.code, made.said]).toEqual([0, expect.stringContaining(`the user ${USER.username} ${said}`)]);
  }
  expect((await administer({ ...env, URN_PASSWORD: 'other' }, 'rights', 'relay')).code).toBe(0);

  const log = begin(as(USER));
  const keys = await log.keysOf();
  const service = await log.startHere('a');
  const enrol = (id: string) => clientOf(service.url, keys.work).randomize('One', id, { sex: 'F' });
  expect((await enrol('1')).status).toBe(200);
  const stream = `${log.prefix}.log`;
  const theirs = streamsAs(url, USER);
  onTestFinished(() => theirs.close());
  const answers = await Promise.allSettled([
    theirs.softDelete(stream),
    theirs.tombstone(stream),
    theirs.setMetadata(stream, { $maxCount: 1 }),
  ]);
  expect(answers).toMatchObject(Array(3).fill({ reason: { type: 'access-denied' } }));
  expect((await enrol('2')).status).toBe(200);
  await service.stop();
  await expectVerified(log);
  expect(service.output.stderr).not.toMatch(/are in danger/);
  for (const { password } of [USER, admin]) expect(service.output.stderr).not.toContain(password);

  // Who has no permissions is told what to do, and where that is documented.
  const refused = await begin(as({ username: 'somebody-else', password: 'x' })).run('serve', '--port', '0');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/eventstoredb\.mjs rights USER.*docs\/instances\.md/);
  const wrong = await administer({ ...env, EVENTSTOREDB_ADMIN_PASSWORD: 'guessed' }, 'rights', 'x');
  expect([wrong.code, wrong.said]).toEqual([1, expect.not.stringContaining('guessed')]);
});
