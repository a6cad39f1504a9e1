/**
 * Makes a log and bundles with the unchanged program of version 0.2.0. What lies beside this file was made by it.
 *
 *     node make.mjs CHECKOUT OUT    # CHECKOUT: a built checkout of 0.2.0; OUT: a folder that does not exist yet
 *
 * A second run makes other bytes (ids, salts, keys and times are new), so what is here is never made anew.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { keep, Stage } from './stage.mjs';
import * as story from './story.mjs';

const [checkout, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out || existsSync(out))
  throw new Error('usage: node make.mjs CHECKOUT OUT (a folder that does not exist yet)');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json')));
if (version !== '0.2.0') throw new Error(`${checkout} holds version ${version}: these vectors are of 0.2.0`);

const folder = join(out, 'every-act');
const scratch = mkdtempSync(join(tmpdir(), 'urn-vectors-'));
const stage = new Stage(checkout, join(scratch, 'data'), join(scratch, 'studies.yaml'), story.LIFE);
const { moveLog } = await stage.module('move/move-log.js');
const { abortMove } = await stage.module('move/abort-move.js');
const { logIdIn } = await stage.module('move/log-stream.js');
const { SqliteStore } = await stage.module('store/sqlite/store.js');
const { systemTools } = await stage.module('write/tools.js');

/** As `urn copy`, which would record the name of the machine. */
async function withStores(from, to, act) {
  const [source, target] = [new SqliteStore(from), new SqliteStore(to)];
  const parts = { source, target, logId: await logIdIn(source), from: 'sqlite:data/urn.sqlite on db1' };
  try {
    await act({ ...parts, actor: { cli: true, user: 'operator' }, tools: systemTools() });
  } finally {
    await source.close();
    await target.close();
  }
}

const move = (from, to, { diesAtTheEnd = false } = {}) =>
  withStores(from, to, async (parts) => {
    const append = parts.target.append.bind(parts.target);
    if (diesAtTheEnd)
      parts.target.append = (stream, revision, records) => {
        if (records.some(({ record }) => String(record).includes('"LogArrived"'))) throw new Error('died');
        return append(stream, revision, records);
      };
    try {
      await moveLog({ ...parts, to: 'sqlite:new/urn.sqlite on db2', reason: 'a new server' });
    } catch (error) {
      if (error.message !== 'died') throw error;
    }
  });

/** A move whose copier dies is given up while the log is small; another one arrives. */
async function giveUpMove() {
  const home = join(stage.data, 'urn.sqlite');
  const target = join(folder, 'given-up.sqlite');
  await move(home, target, { diesAtTheEnd: true });
  await withStores(home, target, (parts) => abortMove({ ...parts, reason: 'the disk failed' }));
}

async function moveAway() {
  const away = join(scratch, 'moved');
  mkdirSync(away);
  await move(join(stage.data, 'urn.sqlite'), join(away, 'urn.sqlite'));
  for (const file of ['signing-key', 'last-checkpoints'])
    copyFileSync(join(stage.data, file), join(away, file));
  stage.data = away;
}

/** Two participants are lost, and their ids are randomized again. */
async function recover() {
  const database = join(stage.data, 'urn.sqlite');
  keep(database, join(scratch, 'backup'));
  const lost = ['A014', 'A015'].map((id) => [id, { site: 'West', sex: 'Female' }]);
  await stage.start();
  stage.areLost = true;
  await stage.enrol('user', story.LIFE, ...lost);
  stage.areLost = false;
  await stage.stop();
  keep(join(scratch, 'backup'), database);
  await stage.urn('recover', '--reason', 'disk failure');
  await stage.start();
  await stage.enrol('user', story.LIFE, lost[0]);
}

async function tell() {
  writeFileSync(stage.studies, story.STUDIES);
  await story.issueKeys(stage);
  await stage.start();
  await stage.enrol('user', story.AMENDED, ['p0', { ward: 'one', sex: 'Male' }]);
  await stage.stop();
  await giveUpMove();
  await stage.start();
  await story.packsOfLife(stage, scratch);
  await story.corrections(stage);
  await story.forced(stage);
  await story.codeBreaks(stage);
  await story.states(stage);
  await story.amendments(stage);
  await story.amendLife(stage, scratch);
  await stage.urn('signing-key', 'rotate', '--reason', 'a new server');
  await stage.enrol('user', story.LIFE, ['A016', { site: 'Nord', sex: 'Male' }]);
  await stage.stop();
  await recover();
  await stage.stop();
  await moveAway();
  await story.imports(stage, scratch);
  await story.disclosures(stage, scratch);
  await story.access(stage);
  await stage.stop();
  await story.suspended(stage, scratch);
}

const write = (name, text) => writeFileSync(join(folder, name), `${text}\n`);
const asJson = (value) => JSON.stringify(value, null, 2);

/** What the program's own verifier finds in a bundle, but for the words, which may change. */
async function findingsIn(bundle) {
  const { streams } = JSON.parse(await stage.urnAnywhere('verify', '--bundle', bundle, '--json'));
  for (const { warnings } of streams) for (const warning of warnings) delete warning.text;
  return streams;
}

async function keepLog() {
  write('explanation.json', await stage.urn('explain', '--study', story.LIFE, '--id', 'A009', '--json'));
  write('receipts.txt', stage.receipts.join('\n'));
  write('lost-receipts.txt', stage.lost.join('\n'));
  write('api-keys.json', asJson(stage.keys));
  write('trusted-keys.txt', await stage.urn('signing-key', 'show'));
  copyFileSync(stage.studies, join(folder, 'studies.yaml'));
  const findings = {};
  for (const [study, name, ...contents] of [
    [story.LIFE, '', 'full', 'open', 'blinded'],
    [story.AMENDED, 'amended-', 'full', 'blinded'],
    [story.HARVEST, 'harvest-', 'full', 'blinded'],
    [story.MAPPED, 'mapped-', 'full'],
  ])
    for (const content of contents) {
      const file = `${name}${content}.zip`;
      await stage.urn('bundle', '--study', study, '--content', content, '--out', join(folder, file));
      findings[file] = await findingsIn(join(folder, file));
    }
  write('findings.json', asJson(findings));
  for (const file of ['signing-key', 'last-checkpoints'])
    copyFileSync(join(stage.data, file), join(folder, file));
  keep(join(stage.data, 'urn.sqlite'), join(folder, 'urn.sqlite'));
}

mkdirSync(folder, { recursive: true });
try {
  await tell();
  await keepLog();
} finally {
  await stage.stop();
  rmSync(scratch, { recursive: true });
}
