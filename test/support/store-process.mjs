/**
 * Another process at the same file, for tests. It runs the built code: node store-process.mjs <what> <file> …
 * What it found out is one line of JSON on stdout.
 */
import { Buffer } from 'node:buffer';
import process from 'node:process';
import { keyringInFile } from '../../dist/src/core/log/identity.js';
import { SqliteStore } from '../../dist/src/store/sqlite/store.js';

const [what, file, ...rest] = process.argv.slice(2);
const tasks = { open, append, hammer, follow, appendAndDie, key };
const say = (result) => process.stdout.write(`${JSON.stringify(result)}\n`);

const sayWhy = ({ name, failure, outcome, message }) => say({ name, failure, outcome, message });

try {
  await tasks[what](...rest);
} catch (error) {
  sayWhy(error);
}

/** Opens the store, and these others, and closes each again. */
async function open(...others) {
  for (const one of [file, ...others])
    try {
      await new SqliteStore(one).close();
      say({ opened: true });
    } catch (error) {
      sayWhy(error);
    }
}

/** Appends one record to a stream that must not exist yet. */
async function append(stream, text) {
  const store = new SqliteStore(file);
  const result = await store.append(stream, -1, [record(text)]).finally(() => store.close());
  say(result);
}

/** Appends `count` records one by one, each after whatever is then the end of the stream. */
async function hammer(stream, name, count) {
  const store = new SqliteStore(file);
  let end = -1;
  let conflicts = 0;
  for (let i = 0; i < Number(count); ) {
    const { type } = await store.append(stream, end, [record(`${name}${i}`)]);
    if (type === 'written') {
      end++;
      i++;
    } else {
      conflicts++;
      for await (const page of store.readStream(stream, end + 1)) end += page.length;
    }
  }
  await store.close();
  say({ conflicts });
}

/** Follows the store from its beginning until it has heard `count` records and nothing more for a while. */
async function follow(count) {
  const store = new SqliteStore(file);
  const heard = [];
  const subscription = store.subscribe(undefined, {
    onRecords: (records) =>
      heard.push(...records.map(({ record, position }) => [position, Buffer.from(record).toString()])),
    onCaughtUp: () => undefined,
    onError: () => undefined,
  });
  say({ following: true });
  while (heard.length < Number(count)) await pause(20);
  await pause(300);
  subscription.close();
  await store.close();
  say({ heard });
}

/** Appends records, and is killed the moment the last is acknowledged. */
async function appendAndDie(stream, count) {
  const store = new SqliteStore(file);
  for (let i = 0; i < Number(count); i++) await store.append(stream, i - 1, [record(`r${i}`)]);
  process.kill(process.pid, 'SIGKILL');
}

/** The signing key in the file, made unless it is there. */
function key() {
  const { publicKey } = keyringInFile(file).loadOrMake('urn');
  say({ publicKey });
}

function record(text) {
  return { record: Buffer.from(text), sealed: Buffer.from('{}'), leaf: Buffer.alloc(32) };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
