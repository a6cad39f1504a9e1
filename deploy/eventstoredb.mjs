/**
 * Sets up an EventStoreDB for a log of urn, as its administrator. It uses gRPC, because AtomPub over HTTP, which curl would need, is
 * off by default.
 *
 *   node deploy/eventstoredb.mjs rights USER [--keep-others]
 *       Creates the user that the services connect as, and lets it read $all, read and write streams and read their
 *       metadata. From then on only administrators can delete streams or set their metadata. Users that are not
 *       named lose their default rights to streams, unless --keep-others is given. Run it for each user in turn.
 *
 *   node deploy/eventstoredb.mjs keep STREAM
 *       Removes $maxCount, $maxAge and $tb from a stream, such as urn.study-…, and restores it if it was soft-deleted.
 *       Records that a scavenge has already removed stay lost.
 *
 * Environment:
 *   EVENTSTOREDB_URL              esdb://db1:2113,db2:2113,db3:2113?tlsCAFile=/etc/urn/ca.crt
 *   EVENTSTOREDB_ADMIN            name of the administrator (default: admin)
 *   EVENTSTOREDB_ADMIN_PASSWORD   its password
 *   URN_PASSWORD                  for `rights`: the password of the user
 */
import { BACKWARDS, END, EventStoreDBClient, jsonEvent, StreamNotFoundError } from '@eventstore/db-client';
import usersService from '@eventstore/db-client/generated/users_grpc_pb.js';
import users from '@eventstore/db-client/generated/users_pb.js';

const ADMINS = '$admins';
const CUTTING = ['$maxCount', '$maxAge', '$tb'];
/** After a change of leader, the next try goes to the new one. */
const [TRIES, PAUSE_MS] = [10, 500];

const { EVENTSTOREDB_URL: url, EVENTSTOREDB_ADMIN: username = 'admin' } = process.env;
const [command, name, option] = process.argv.slice(2);
const isKnown = (command === 'rights' && [undefined, '--keep-others'].includes(option)) || command === 'keep';
if (!isKnown || !name || !url)
  fail('usage: rights USER [--keep-others] | keep STREAM; see the top of this file');

// Given with each call, because the client cuts a password in the connection string at a colon. It also asks the servers less often.
const credentials = { username, password: process.env.EVENTSTOREDB_ADMIN_PASSWORD ?? '' };
const client = EventStoreDBClient.connectionString(url);
try {
  await (command === 'rights' ? giveRights(name, option === '--keep-others') : keep(name));
} catch (error) {
  fail(error.message);
}
process.exit();

async function giveRights(user, keepsOthers) {
  const { URN_PASSWORD: password } = process.env;
  if (!password) fail('URN_PASSWORD is empty: set it to the password of the user');
  const isOurs = await createUser(user, password);
  say(
    isOurs
      ? `the user ${user} exists, with the password in URN_PASSWORD`
      : `the user ${user} existed before with another password, which was not changed`,
  );

  // Once a stream has an ACL of its own, the system's default no longer applies to it.
  const all = await lastOf('$$$all');
  await append('$$$all', '$metadata', {
    ...all,
    $acl: { ...all.$acl, $r: listed(all.$acl?.$r ?? ADMINS, user) },
  });
  say(`${user} may read $all`);

  const settings = await lastOf('$settings');
  const before = settings.$userStreamAcl ?? {};
  const among = (right) => listed(before[right] ?? (keepsOthers ? '$all' : ADMINS), user);
  await append('$settings', 'update-default-acl', {
    ...settings,
    $userStreamAcl: { $r: among('$r'), $w: among('$w'), $mr: among('$mr'), $d: ADMINS, $mw: ADMINS },
  });
  say(`${user} may read and write streams; only ${ADMINS} may delete them or set their metadata`);
}

/** A deleted stream takes two rounds: the server responds to the first by setting $tb at the end of the stream. */
async function keep(stream) {
  for (let i = 0; i < TRIES; i++) {
    const metadata = await lastOf(`$$${stream}`);
    const cutting = CUTTING.filter((one) => metadata[one] !== undefined && metadata[one] !== null);
    if (cutting.length === 0) return say(`nothing limits ${stream}`);
    say(`removing ${cutting.join(', ')} from ${stream}`);
    const others = Object.entries(metadata).filter(([one]) => !CUTTING.includes(one));
    await append(`$$${stream}`, '$metadata', Object.fromEntries(others));
  }
  throw new Error(`somebody else keeps setting the metadata of ${stream}`);
}

/** The data of a stream's last event, or {} if there is none. */
function lastOf(stream) {
  return again(async () => {
    const last = { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true, credentials };
    try {
      for await (const { event } of client.readStream(stream, last)) return event?.data ?? {};
    } catch (error) {
      if (!(error instanceof StreamNotFoundError)) throw error;
    }
    return {};
  });
}

function append(stream, type, data) {
  return again(() =>
    client.appendToStream(stream, jsonEvent({ type, data }), { requiresLeader: true, credentials }),
  );
}

/** @returns false if the user exists with another password: the server does not say whether it existed with the same one */
function createUser(loginName, password) {
  const options = new users.CreateReq.Options()
    .setLoginName(loginName)
    .setFullName('urn, which writes its log here')
    .setPassword(password);
  const request = new users.CreateReq().setOptions(options);
  const call = client.callArguments({ requiresLeader: true, credentials });
  return again(() =>
    client.execute(usersService.UsersClient, 'create', (service) => {
      return new Promise((resolve, reject) => {
        service.create(request, ...call, (error) => (error ? reject(error) : resolve(true)));
      });
    }),
  ).catch((error) => {
    if (error.metadata?.get('exception')[0] === 'user-conflict') return false;
    throw error;
  });
}

async function again(act) {
  for (let tries = 1; ; tries++)
    try {
      return await act();
    } catch (error) {
      const isPassing = ['not-leader', 'unavailable'].includes(error.type) || error.code === 14;
      if (!isPassing || tries === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}

function listed(roles, user) {
  const all = [roles].flat();
  return all.includes('$all') || all.includes(user) ? all : [...all, user];
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
