/**
 * Makes a log with packs at visits with the unchanged program of version 0.3.0. What lies beside this file was made by it.
 *
 *     node make.mjs CHECKOUT OUT    # CHECKOUT: a built checkout of 0.3.0; OUT: a folder that does not exist yet
 *
 * A second run makes other bytes (ids, salts, keys and times are new), so what is here is never made anew.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { keep, Stage } from '../0.2.0/stage.mjs';

const [checkout, out] = process.argv.slice(2).map((path) => resolve(path));
if (!out || existsSync(out))
  throw new Error('usage: node make.mjs CHECKOUT OUT (a folder that does not exist yet)');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json')));
if (version !== '0.3.0') throw new Error(`${checkout} holds version ${version}: these vectors are of 0.3.0`);

const study = 'Visits';
const STUDIES = `
Visits:
  mode: test
  blinding: blinded
  starting_seed: 79228162514264337593543950336
  treatments: [Placebo, Low dose, High dose]
  factors:
    site: [Nord, Süd]
  visits: [V2, V3, Week 12]
`;
const ARMS = ['Placebo', 'Low dose', 'High dose'];
const OF_STUDY = ['--study', study];
const NORD = { site: 'Nord' };
const SUED = { site: 'Süd' };

const folder = join(out, 'visits');
const scratch = mkdtempSync(join(tmpdir(), 'urn-vectors-'));
const stage = new Stage(checkout, join(scratch, 'data'), join(scratch, 'studies.yaml'), study);

async function issueKeys() {
  for (const key of [
    ['nurse', '--scope', 'blinded,randomize'],
    ['nord', '--scope', 'blinded,randomize,correct', ...OF_STUDY, '--where', 'site=Nord'],
    ['pharmacy', '--scope', 'supply,read'],
    ['corrector', '--scope', 'correct,blinded'],
    ['desk', '--scope', 'force,read'],
    ['doctor', '--scope', 'unblind,blinded'],
    ['manager', '--scope', 'manage,blinded'],
    ['auditor', '--scope', 'read,audit'],
  ])
    await stage.issue(...key);
}

/** @param counts packs of each arm, in the order of the arms */
async function list(name, counts, site) {
  const arms = ARMS.flatMap((arm, n) => Array(counts[n]).fill(arm));
  const rows = arms.map((_, n) => [`${name}-${n}`, arms[(n * 7) % arms.length], ...(site ? [site] : [])]);
  const head = ['code', 'treatment', ...(site ? ['site'] : [])];
  const file = join(scratch, `${name}.csv`);
  writeFileSync(file, [head, ...rows].map((fields) => fields.join(',')).join('\n'));
  await stage.urn('codes', 'add', ...OF_STUDY, '--from', file);
}

const ask = async (who, path, body, headers) => (await stage.post(who, path, { study, ...body }, 200, headers)).results;
const dispense = async (who, id, visit, headers) => (await ask(who, '/dispensations', { id, visit }, headers)).code;
const correct = (who, id, code, to, cause = 'entry') =>
  ask(who, '/dispensation_corrections', { id, code, to, cause, note: 'source document\nof 3 March' });
const replace = async (who, id, code, cause) => (await ask(who, '/code_replacements', { id, code, cause })).by;
const breakCode = (code, category = 'emergency') =>
  ask('doctor', '/code_breaks', { code, category, reason: 'a child swallowed it' });
let amendments = 0;
const amend = (...changes) =>
  ask('manager', '/amendments', { amendment: ++amendments, changes, reason: 'protocol 3' });
const records = async () => JSON.parse(await stage.shown('auditor', '/study_participants', { study })).results;
const armOf = async (id) => (await records()).find((one) => one.id === id).trt;

/** Packs are given out, replaced and corrected, before somebody moves and has another id. */
async function ordinary() {
  await stage.enrol('nurse', study, ['e1', NORD]);
  await list('P', [16, 16, 16]);
  await list('Q', [4, 4, 4], 'Nord');
  await stage.enrol('nurse', study, ...['p1', 'p2', 'p3', 'p4', 'p5', 'p6'].map((id, n) => [id, n % 2 ? SUED : NORD]));
  const first = await dispense('nurse', 'p1', 'V2', { 'Idempotency-Key': 'tablet-1', 'X-On-Behalf-Of': 'Dr. K.' });
  const never = await dispense('nurse', 'p2', 'v2');
  await correct('corrector', 'p2', never, null, 'not-handed-out');
  await dispense('nurse', 'p2', 'V2');
  const moved = await dispense('nord', 'p3', 'week 12');
  await correct('nord', 'p3', moved, 'V2');
  await dispense('nurse', 'e1', 'V3');
  await dispense('pharmacy', 'p1', 'Unscheduled 1');
  const second = await replace('nurse', 'p1', first, 'damaged');
  await replace('pharmacy', 'p3', moved, 'expired');
  await breakCode(first);
  await breakCode(never);
  await breakCode(second, 'planned');
  await correct('corrector', 'p2', never, 'V3', 'other');
  await ask('corrector', '/level_corrections', {
    ...{ id: 'p1', cause: 'transfer', note: 'moved', changes: [{ factor: 'site', from: 'Nord', to: 'Süd' }] },
  });
  await ask('corrector', '/id_corrections', { id: 'p2', to: 'q2', cause: 'entry' });
  await dispense('nurse', 'p1', 'V3');
  await dispense('nurse', 'q2', 'Week 12');
  await ask('corrector', '/voids', { id: 'p4', cause: 'never-enrolled', analysis: 'exclude', note: 'never came' });
  await ask('corrector', '/reinstatements', { id: 'p4', note: 'another person' });
  await dispense('nurse', 'p4', 'V2');
}

/** Levels and visits are amended; an arm is closed, refilled, stopped and reopened. */
async function amended() {
  await amend({ kind: 'level-renamed', factor: 'site', level: 'Nord', to: 'North' });
  await dispense('nord', 'p5', 'V2');
  await amend({ kind: 'visits', value: ['V2', 'V3', 'Week 12', 'Week 24', 'Unscheduled 1'] });
  const treatment = await armOf('p6');
  await amend({ kind: 'arm-closed', treatment });
  await list('R', ARMS.map((arm) => (arm === treatment ? 4 : 0)));
  const code = await dispense('nurse', 'p6', 'Week 24');
  await amend({ kind: 'arm-stopped', treatment });
  await correct('corrector', 'p6', code, 'Unscheduled 1');
  await amend({ kind: 'arm-reopened', treatment });
  await dispense('nurse', 'p6', 'Week 24');
  await amend({ kind: 'arm-closed', treatment }, { kind: 'arm-stopped', treatment });
}

/** By hand, wrongly and again. */
async function entered() {
  const free = JSON.parse(await stage.shown('pharmacy', '/codes', { study })).results.codes;
  const stopped = await armOf('p6');
  const { code, trt: treatment } = free.find(({ trt, state, where }) => trt !== stopped && state === 'free' && !where);
  const entry = {
    ...{ id: 'f1', levels: SUED, treatment, code, cause: 'outage', note: 'envelope' },
    occurred_at: new Date().toISOString(),
  };
  await ask('desk', '/forced_allocations', entry);
  const [void_, held] = [await dispense('nurse', 'f1', 'V2'), await dispense('nurse', 'f1', 'V3')];
  await correct('corrector', 'f1', void_, null);
  await ask('corrector', '/voids', { id: 'f1', cause: 'entry', analysis: 'exclude', note: 'wrong site' });
  const [{ revision: replaces }] = JSON.parse(
    await stage.shown('auditor', '/participant_history', { study, id: 'f1' }),
  ).results;
  await ask('desk', '/forced_allocations', { ...entry, levels: { site: 'North' }, replaces });
  await dispense('nord', 'f1', 'V2');
  await breakCode(held);
}

async function ended() {
  const state = (action, more = {}) => ask('manager', '/study_state', { action, reason: 'review', ...more });
  await state('pause');
  await dispense('nurse', 'p4', 'V3');
  await state('resume');
  await state('close', { cause: 'target' });
  await dispense('pharmacy', 'p4', 'Week 12');
  const late = await dispense('pharmacy', 'p4', 'Late visit');
  await correct('pharmacy', 'p4', late, 'Week 24');
  await stage.shown('pharmacy', '/pack_accountability', { study });
}

const write = (name, text) => writeFileSync(join(folder, name), `${text}\n`);
const asJson = (value) => JSON.stringify(value, null, 2);

async function keepLog() {
  write('explanation.json', await stage.urn('explain', ...OF_STUDY, '--id', 'p5', '--json'));
  // The last ones cover all before them.
  write('receipts.txt', stage.receipts.slice(-3).join('\n'));
  write('api-keys.json', asJson(stage.keys));
  write('trusted-keys.txt', await stage.urn('signing-key', 'show'));
  write('accountability.csv', await stage.urn('codes', 'accountability', ...OF_STUDY, '--csv'));
  copyFileSync(stage.studies, join(folder, 'studies.yaml'));
  await stage.urn('bundle', ...OF_STUDY, '--content', 'full', '--out', join(folder, 'full.zip'));
  const { streams } = JSON.parse(
    await stage.urnAnywhere('verify', '--bundle', join(folder, 'full.zip'), '--json'),
  );
  for (const { warnings } of streams) for (const warning of warnings) delete warning.text;
  write('findings.json', asJson(streams));
  for (const file of ['signing-key', 'last-checkpoints']) copyFileSync(join(stage.data, file), join(folder, file));
  keep(join(stage.data, 'urn.sqlite'), join(folder, 'urn.sqlite'));
}

mkdirSync(folder, { recursive: true });
try {
  writeFileSync(stage.studies, STUDIES);
  await issueKeys();
  await stage.start();
  await ordinary();
  await amended();
  await entered();
  await ended();
  await stage.stop();
  await keepLog();
} finally {
  await stage.stop();
  rmSync(scratch, { recursive: true });
}
