/**
 * Makes logs and bundles with the unchanged program of version 0.1.0. What lies beside this file was made by it.
 *
 *     node make.mjs CHECKOUT OUT    # CHECKOUT: a built checkout of 0.1.0; OUT: a folder that does not exist yet
 *
 * A second run makes other bytes (ids, salts, keys and times are new), so what is here is never made anew.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ask, programIn, randomize } from './program.mjs';

const [checkout, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out || existsSync(out)) throw new Error('usage: node make.mjs CHECKOUT OUT (a folder that does not exist yet)');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json')));
if (version !== '0.1.0') throw new Error(`${checkout} holds version ${version}: these vectors are of 0.1.0`);

const imported = (path) => import(pathToFileURL(join(checkout, 'dist/src', path)));
const { moveLog } = await imported('copy/move-log.js');
const { abortMove } = await imported('copy/abort-move.js');
const { logIdIn } = await imported('copy/log-stream.js');
const { SqliteStore } = await imported('store/sqlite/store.js');
const { systemTools } = await imported('write/tools.js');
const { urn, serve } = programIn(checkout);

/** The service closes its database, which leaves one file. */
function keep(from, to) {
  for (const side of ['-wal', '-shm']) if (existsSync(from + side)) throw new Error(`${from}${side} is still there`);
  copyFileSync(from, to);
}

/** What is kept of a log whose services have stopped: one folder. */
async function keepLog(name, data, studies, { study, participant, receipts, keys }) {
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  const explanation = await urn('explain', '--data', data, '--study', study, '--id', participant, '--json');
  writeFileSync(join(folder, 'explanation.json'), `${explanation}\n`);
  writeFileSync(join(folder, 'receipts.txt'), `${receipts.join('\n')}\n`);
  writeFileSync(join(folder, 'api-keys.json'), `${JSON.stringify(keys, null, 2)}\n`);
  writeFileSync(join(folder, 'trusted-keys.txt'), `${await urn('signing-key', 'show', '--data', data)}\n`);
  copyFileSync(studies, join(folder, 'studies.yaml'));
  for (const content of ['full', 'open', 'blinded']) {
    const bundle = join(folder, `${content}.zip`);
    await urn('bundle', '--data', data, '--study', study, '--content', content, '--out', bundle);
  }
  for (const file of ['signing-key', 'last-checkpoints']) copyFileSync(join(data, file), join(folder, file));
  keep(join(data, 'urn.sqlite'), join(folder, 'urn.sqlite'));
}

/** The first 50 of 150 participants that the reference implementation randomized: the rest is for the tests. */
async function ordinary(scratch) {
  const data = join(scratch, 'ordinary');
  const studies = join(scratch, 'ordinary.yaml');
  const { studies: histories } = JSON.parse(readFileSync(new URL('../reference-histories.json', import.meta.url)));
  const { study, config, history } = histories.find((one) => one.study === 'k4-chisq-a1b2w2');
  writeFileSync(studies, `${JSON.stringify({ [study]: { mode: 'live', ...config } }, null, 2)}\n`);
  const keys = {
    user: await urn('keys', 'add', 'edc', '--data', data),
    auditor: await urn('keys', 'add', 'auditor', '--scope', 'read,audit', '--data', data),
  };
  const receipts = [];
  // Two runs of the service, as an update of the machine leaves them.
  for (const part of [history.slice(0, 30), history.slice(30, 50)]) {
    const { url, stop } = await serve(data, studies);
    for (const { id, levels } of part) receipts.push(await randomize(url, keys.user, study, id, levels));
    await stop();
  }
  await keepLog('ordinary', data, studies, { study, participant: history[20].id, receipts, keys });
}

const EVERY = `
# Not what RE2 can run: it looks ahead.
Sleep:
  mode: test
  starting_seed: 340282366920938463463374607431768211457
  id_pattern: "(?!p-0).+"
  D: variance
  alpha: 1
  beta: 2
  w: 3
  treatments: [Usual care, "Sleep coaching (Größe) ${'long '.repeat(50)}end"]
  factors:
    sex: [Male, Female, male]
    local_site: ["11-Cook County – Chicago", "30-Dupage County", "45-Kane (3+)"]
    only: [one]

Ward:
  mode: live
  target_enrollment: 40
  treatments: [Left, Right, Middle]
  factors:
    ward: [a, b]
`;
const COOK = { sex: 'Male', local_site: '11-Cook County – Chicago', only: 'one' };
const DUPAGE = { sex: 'Female', local_site: '30-Dupage County', only: 'one' };
const KANE = { sex: 'male', local_site: '45-Kane (3+)', only: 'one' };

/** Every type of event. `CopyAborted` stands only in a copy that was given up, which is a file of its own. */
async function everyEvent(scratch) {
  let data = join(scratch, 'every-event');
  const studies = join(scratch, 'every-event.yaml');
  writeFileSync(studies, EVERY);
  const add = (...args) => urn('keys', 'add', ...args, '--data', data);
  const keys = {
    user: await add('edc'),
    site: await add('site 30', '--study', 'Sleep', '--where', 'local_site=30-Dupage County'),
    auditor: await add('auditor', '--scope', 'read,audit', '--expires', '2999-12-31'),
    monitor: await add('monitor\u00ad', '--scope', 'blinded'),
    predicting: await add('statistician', '--scope', 'randomize,read,audit', '--allow-prediction'),
    revoked: await add('left', '--where', 'colour=no study has it'),
  };
  const [receipts, lost] = [[], []];
  const enrol = async (url, who, id, levels, headers, kept = receipts) => {
    const study = levels.ward === undefined ? 'Sleep' : 'Ward';
    const receipt = await randomize(url, keys[who], study, id, levels, headers);
    if (study === 'Sleep') kept.push(receipt);
  };
  const change = (...args) => urn(...args, '--data', data);

  let service = await serve(data, studies);
  for (const [n, levels] of [COOK, DUPAGE, KANE, COOK].entries()) await enrol(service.url, 'user', `p-${n + 1}`, levels);
  await enrol(service.url, 'site', 'p-5', DUPAGE, { 'Idempotency-Key': 'visit-5', 'X-On-Behalf-Of': utf8('Dr. Müller\u200b') });
  await enrol(service.url, 'predicting', 'p-6', KANE);
  // Look-alikes, which a later version refuses.
  for (const id of ['001', '001\u200b', 'caf\u00e9', 'cafe\u0301']) await enrol(service.url, 'user', id, COOK);
  for (const [n, ward] of ['a', 'b', 'a'].entries()) await enrol(service.url, 'user', `w-${n + 1}`, { ward });
  // Refused: one after the other, so that each is an event of its own.
  await ask(service.url, '/study_participants', keys.user, { study: 'Sleep', id: 'p-1', ...KANE }, { method: 'POST' });
  await ask(service.url, '/study_participants', keys.monitor, { study: 'Sleep', id: 'p-x', ...KANE }, { method: 'POST' });
  await ask(service.url, '/study_config', keys.user, { study: 'Nothing' });
  // Disclosed.
  for (const path of ['/study_participants', '/study_config', '/balance', '/records', '/verification'])
    await ask(service.url, path, keys.auditor, { study: 'Sleep' });
  await ask(service.url, '/explanation', keys.auditor, { study: 'Sleep', id: 'p-2' });

  await change('studies', 'pause', 'Sleep', '--reason', 'DSMB meeting');
  await change('studies', 'resume', 'Sleep', '--reason', 'go on');
  const { keyId } = JSON.parse(await change('keys', 'list', '--json')).find(({ user }) => user === 'left');
  await change('keys', 'revoke', keyId, '--reason', 'left the hospital');
  await enrol(service.url, 'user', 'p-7', KANE);
  await change('signing-key', 'rotate', '--reason', 'a new server');
  for (const n of [8, 9]) await enrol(service.url, 'site', `p-${n}`, DUPAGE);
  await service.stop();

  keep(join(data, 'urn.sqlite'), join(scratch, 'backup'));
  service = await serve(data, studies);
  for (const n of [10, 11]) await enrol(service.url, 'user', `p-${n}`, COOK, {}, lost);
  await service.stop();
  keep(join(scratch, 'backup'), join(data, 'urn.sqlite'));
  await change('recover', '--reason', 'disk failure');
  service = await serve(data, studies);
  for (const n of [10, 12]) await enrol(service.url, 'user', `p-${n}`, KANE);
  await service.stop();

  // A move whose copier dies is given up; the next one arrives.
  const home = join(data, 'urn.sqlite');
  const given = join(scratch, 'given-up.sqlite');
  await move(home, given, { diesAtTheEnd: true });
  await giveUp(home, given);
  service = await serve(data, studies);
  await enrol(service.url, 'user', 'p-13', COOK);
  await enrol(service.url, 'user', 'w-last', { ward: 'b' });
  await service.stop();
  const away = join(scratch, 'moved');
  mkdirSync(away);
  await move(home, join(away, 'urn.sqlite'), {});
  for (const file of ['signing-key', 'last-checkpoints']) copyFileSync(join(data, file), join(away, file));
  data = away;
  service = await serve(data, studies);
  await enrol(service.url, 'site', 'p-14', DUPAGE);
  await service.stop();

  await keepLog('every-event', data, studies, { study: 'Sleep', participant: 'p-12', receipts, keys });
  const folder = join(out, 'every-event');
  writeFileSync(join(folder, 'lost-receipts.txt'), `${lost.join('\n')}\n`);
  keep(given, join(folder, 'given-up.sqlite'));
  keep(home, join(folder, 'moved-away.sqlite'));
}

/** As a header has it: fetch takes characters for bytes. */
const utf8 = (text) => Buffer.from(text).toString('latin1');

/** As `urn copy`, which would record the name of the machine. */
async function move(from, to, { diesAtTheEnd = false }) {
  const [source, target] = [new SqliteStore(from), new SqliteStore(to)];
  const append = target.append.bind(target);
  const arrives = (records) => records.some(({ record }) => String(record).includes('"LogArrived"'));
  if (diesAtTheEnd)
    target.append = (stream, revision, records) => {
      if (arrives(records)) throw new Error('died');
      return append(stream, revision, records);
    };
  try {
    await moveLog({ ...(await partsOf(source, target)), to: 'sqlite:new/urn.sqlite on db2', reason: 'a new server' });
  } catch (error) {
    if (!diesAtTheEnd || error.message !== 'died') throw error;
  } finally {
    await source.close();
    await target.close();
  }
}

async function giveUp(from, to) {
  const [source, target] = [new SqliteStore(from), new SqliteStore(to)];
  await abortMove({ ...(await partsOf(source, target)), reason: 'the disk failed' });
  await source.close();
  await target.close();
}

async function partsOf(source, target) {
  const actor = { cli: true, user: 'operator' };
  const logId = await logIdIn(source);
  return { source, target, logId, from: 'sqlite:data/urn.sqlite on db1', actor, tools: systemTools() };
}

const scratch = mkdtempSync(join(tmpdir(), 'urn-vectors-'));
try {
  await ordinary(scratch);
  await everyEvent(scratch);
} finally {
  rmSync(scratch, { recursive: true });
}
