/** Every act of study life, in the order in which `make.mjs` tells them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from './stage.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

export const [LIFE, AMENDED, HARVEST, MAPPED] = ['Life', 'Amended', 'Harvest (2) Trial', 'Mapped'];
const OTHER = 'Other';

export const STUDIES = `
Life:
  mode: live
  blinding: blinded
  ratio: {Placebo: 2, Low dose: 1, High dose: 1}
  start: paused
  id_pattern: "[A-Z][0-9]{3}"
  target_enrollment: 40
  limits: {total: 60, levels: {site: {Nord: 30}}}
  policies: {level_counts: as-randomized, void_counts: removed, forced_counts: not-counted}
  protocol: {version: "1.0", date: "2026-01-10"}
  D: range
  treatments: [Placebo, Low dose, High dose]
  factors:
    site: [Nord, Süd, West]
    sex: [Female, Male]

Amended:
  mode: test
  starting_seed: 340282366920938463463374607431768211457
  D: variance
  w: 2
  treatments: [A, B, C]
  factors:
    ward: [one, two]
    sex: [Female, Male]

Mapped:
  mode: live
  ratio: [2, 1]
  treatments: [A, B]
  factors: {site: [x, y]}

Other:
  mode: live
  treatments: [A, B]
  factors: {site: [x, y]}

${readFileSync(here('../reference-study.yaml'), 'utf8')}`;

const [NORD, SUED, WEST] = ['Nord', 'Süd', 'West'].map((site) => ({ site, sex: 'Female' }));
const RUIZ = { name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-02-28', reference: 'Minutes 3' };
const BY_RUIZ = ['--approved-by', 'Dr. A. Ruiz, sponsor, 2026-02-28, Minutes 3'];
const OF_LIFE = ['--study', LIFE];
const now = () => new Date().toISOString();

export async function issueKeys(stage) {
  const keys = [
    ['user'],
    ['nurse', '--scope', 'blinded,randomize', ...OF_LIFE, '--where', 'site=Nord', '--where', 'site=Süd'],
    ['pharmacy', '--scope', 'supply,read', '--expires', '2999-12-31'],
    ['desk', '--scope', 'force,read'],
    ['doctor', '--scope', 'unblind,blinded', '--where', 'site=Nord'],
    ['manager', '--scope', 'manage'],
    ['corrector', '--scope', 'correct,blinded'],
    ['auditor', '--scope', 'read,audit'],
    ['statistician', '--scope', 'randomize,read,audit', '--allow-prediction'],
    ['left', '--scope', 'unblind,blinded'],
    ['idle', '--scope', 'read'],
  ];
  for (const key of keys) await stage.issue(...key);
  await stage.issue(
    'expired',
    '--scope',
    'blinded',
    '--expires',
    new Date(Date.now() + 15_000).toISOString(),
  );
}

const packs = async (stage) =>
  JSON.parse(await stage.shown('pharmacy', '/codes', { study: LIFE })).results.codes;
const packOf = async (stage, id) =>
  JSON.parse(await stage.shown('pharmacy', '/study_participants', { study: LIFE, id })).results[0][
    'urn.code'
  ];
async function freePack(stage, arm = 'Placebo') {
  const pack = (await packs(stage)).find(
    ({ trt, state, where }) => trt === arm && state === 'free' && !where,
  );
  return pack.code;
}

async function registerPacks(stage, folder, name, number, site) {
  const file = join(folder, `${name}.csv`);
  const arms = ['Placebo', 'Low dose', 'High dose'];
  const rows = Array.from({ length: number * 3 }, (_, n) => [`${name}-${n}`, arms[(n * 2 + (n >> 2)) % 3]]);
  const lines = [['code', 'treatment'], ...rows].map((row, n) => [
    ...row,
    ...(site ? [n ? site : 'site'] : []),
  ]);
  writeFileSync(file, lines.map((fields) => fields.join(',')).join('\n'));
  await stage.urn('codes', 'add', ...OF_LIFE, '--from', file);
}

/** A paused study is opened; packs are registered, given out, replaced and withdrawn. */
export async function packsOfLife(stage, folder) {
  await stage.refusedTo('user', LIFE, 'A001', NORD);
  await stage.post('manager', '/study_state', { study: LIFE, action: 'resume', reason: 'opened' });
  const onBehalf = { 'X-On-Behalf-Of': 'Dr. K.', 'Idempotency-Key': 'visit-1' };
  await stage.enrol('nurse', LIFE, ['A001', NORD, onBehalf]);
  await registerPacks(stage, folder, 'P', 14);
  await registerPacks(stage, folder, 'Q', 4, 'Süd');
  await stage.enrol('nurse', LIFE, ['A002', NORD], ['A003', SUED], ['A004', { ...NORD, sex: 'Male' }]);
  for (const [who, id, cause] of [
    ['nurse', 'A002', 'damaged'],
    ['pharmacy', 'A003', 'expired'],
    ['nurse', 'A004', 'lost'],
  ])
    await stage.post(who, '/code_replacements', { study: LIFE, id, code: await packOf(stage, id), cause });
  const code = await packOf(stage, 'A002');
  await stage.urn('codes', 'replace', ...OF_LIFE, '--id', 'A002', '--code', code, '--cause', 'other');
  const withdrawn = { study: LIFE, codes: [await freePack(stage)], reason: 'the cold chain was broken' };
  await stage.post('pharmacy', '/code_withdrawals', withdrawn);
  const recalled = await freePack(stage, 'Low dose');
  await stage.urn('codes', 'withdraw', ...OF_LIFE, '--code', recalled, '--reason', 'recall of batch 7');
}

const people = (stage, act, id, ...args) => stage.urn('participants', act, ...OF_LIFE, '--id', id, ...args);

export async function corrections(stage) {
  const study = LIFE;
  const levels = (id, from, to, cause) => ({
    ...{ study, id, cause, changes: [{ factor: 'sex', from, to }], note: 'source document\nof 3 March' },
  });
  await stage.post('corrector', '/level_corrections', levels('A001', 'Female', 'Male', 'entry'));
  await stage.post('corrector', '/level_corrections', levels('A004', 'Male', 'Female', 'source'));
  await people(stage, 'correct', 'A003', '--level', 'site=West', '--cause', 'transfer', '--note', 'moved');
  await people(
    stage,
    'correct',
    'A003',
    '--level',
    'sex=Male',
    '--cause',
    'definition',
    '--note',
    'read again',
  );
  await people(stage, 'correct', 'A003', '--level', 'sex=Female', '--cause', 'other', '--note', 'and again');
  await stage.enrol('user', LIFE, ['A005', NORD], ['A006', WEST], ['A007', SUED], ['A008', WEST]);
  const voided = { study, cause: 'ineligible', analysis: 'keep', note: 'creatinine' };
  await stage.post('corrector', '/voids', { ...voided, id: 'A005' });
  const twice = [
    '--cause',
    'duplicate',
    '--duplicate-of',
    'A003',
    '--analysis',
    'exclude',
    '--note',
    'screened twice',
  ];
  await people(stage, 'void', 'A006', ...twice);
  const never = ['--cause', 'never-enrolled', '--analysis', 'exclude', '--note', 'withdrew'];
  await people(stage, 'void', 'A007', ...never);
  await people(stage, 'void', 'A008', '--cause', 'other', '--analysis', 'keep', '--note', 'test');
  await people(stage, 'reinstate', 'A006', '--note', 'was another person');
  await stage.post('corrector', '/reinstatements', { study, id: 'A005', note: 'was eligible' });
  await stage.post('corrector', '/id_corrections', { study, id: 'A008', to: 'B008', cause: 'entry' });
  await people(stage, 'rename', 'B008', '--to', 'C008', '--cause', 'other');
  await people(stage, 'rename', 'C008', '--to', 'A008', '--cause', 'pattern');
  await stage.enrol('user', LIFE, ['A009', WEST], ['A010', SUED]);
}

/** Entered from outside: with and without a pack, wrongly, and again. */
export async function forced(stage) {
  const entry = (id, more) => ({
    ...{
      study: LIFE,
      id,
      levels: NORD,
      treatment: 'Placebo',
      occurred_at: now(),
      cause: 'outage',
      note: 'envelope',
    },
    ...more,
  });
  const code = await freePack(stage);
  await stage.post('desk', '/forced_allocations', entry('F001', { code }));
  await stage.post('desk', '/forced_allocations', entry('F002', { cause: 'protocol' }));
  const byHand = (id, ...more) =>
    people(
      stage,
      'force',
      id,
      '--level',
      'site=West',
      '--level',
      'sex=Male',
      '--treatment',
      'High dose',
      ...more,
    );
  const elsewhere = ['--occurred-at', now(), '--cause', 'elsewhere', '--note', 'the other system'];
  await byHand('F003', ...elsewhere);
  await people(stage, 'void', 'F003', '--cause', 'entry', '--analysis', 'exclude', '--note', 'read wrongly');
  await byHand(
    'F003',
    ...elsewhere,
    '--cause',
    'other',
    '--replaces',
    String(await revisionOf(stage, 'F003')),
  );
}

const revisionOf = async (stage, id, type = 'AllocationForced') => {
  const history = await stage.shown('corrector', '/participant_history', { study: LIFE, id });
  return JSON.parse(history).results.find((event) => event.type === type).revision;
};

export async function codeBreaks(stage) {
  const study = LIFE;
  const grounds = { reason: 'anaphylaxis, ICU', requested_by: 'Dr. K.' };
  await stage.post('doctor', '/code_breaks', { study, id: 'A002', category: 'emergency', ...grounds });
  await stage.post('doctor', '/code_breaks', {
    study,
    code: await freePack(stage),
    category: 'emergency',
    ...grounds,
  });
  await stage.post('doctor', '/code_breaks', {
    study,
    code: await packOf(stage, 'A004'),
    category: 'other',
    ...grounds,
  });
  await stage.post('left', '/code_breaks', { study, id: 'A003', category: 'safety-report', reason: 'SUSAR' });
  for (const [id, category] of [
    ['A001', 'monitoring'],
    ['A009', 'planned'],
    ['A010', 'end'],
  ])
    await stage.urn('reveal', ...OF_LIFE, '--id', id, '--category', category, '--reason', 'as planned');
  await emergencyWhileLocked(stage);
  const mistake = await revisionOf(stage, 'A002', 'AllocationRevealed');
  const unblinded = { study, id: 'A002', occurred_at: now(), ...grounds };
  const wrong = { how: 'disclosure', inadvertent: true, revealed_at: mistake };
  await stage.post('corrector', '/unblindings', { ...unblinded, ...wrong });
  await stage.post('doctor', '/unblindings', { ...unblinded, id: 'A004', how: 'label' });
  for (const how of ['envelope', 'clinical', 'other']) {
    const args = ['--id', 'A010', '--how', how, '--occurred-at', now(), '--reason', 'torn'];
    await stage.urn('unblindings', 'add', ...OF_LIFE, ...args);
  }
}

/** Shown while the log cannot be written, and recorded afterwards. */
async function emergencyWhileLocked(stage) {
  const { Database } = await stage.module('store/sqlite/library.js');
  const database = new Database(join(stage.data, 'urn.sqlite'), { timeout: 10_000 });
  database.exec('BEGIN IMMEDIATE');
  const emergency = { study: LIFE, id: 'A001', category: 'emergency', reason: 'the database is locked' };
  const { recorded } = await stage.post('doctor', '/code_breaks', emergency);
  if (recorded !== 'pending') throw new Error(`the code-break is recorded in: ${recorded}`);
  database.exec('ROLLBACK');
  database.close();
  for (let tries = 0; tries < 100; tries++) {
    if ((await stage.urn('code-breaks', ...OF_LIFE)).includes('late')) return;
    await pause(100);
  }
  throw new Error('the code-break was not recorded');
}

export async function states(stage) {
  await stage.urn('studies', 'pause', LIFE, '--reason', 'DSMB meeting');
  await stage.refusedTo('user', LIFE, 'A011', NORD);
  await stage.urn('studies', 'resume', LIFE, '--reason', 'go on');
  await stage.post('manager', '/study_state', { study: LIFE, action: 'pause', reason: 'holidays' });
  const close = { study: LIFE, action: 'close', cause: 'sponsor', reason: 'no money', approvals: [RUIZ] };
  await stage.post('manager', '/study_state', close);
  await stage.refusedTo('user', LIFE, 'A011', NORD);
  const protocol = { version: '2.0', date: '2026-03-01' };
  const reopen = { study: LIFE, action: 'reopen', reason: 'money', approvals: [RUIZ], protocol };
  await stage.post('manager', '/study_state', reopen);
  await stage.enrol('statistician', LIFE, ['A011', WEST]);
  for (const cause of ['target', 'safety', 'regulator', 'end', 'other']) {
    await stage.urn('studies', 'close', LIFE, '--cause', cause, '--reason', 'closed', ...BY_RUIZ);
    await stage.urn('studies', 'reopen', LIFE, '--reason', 'opened again', ...BY_RUIZ);
  }
  await stage.enrol('user', LIFE, ['A012', SUED]);
}

/** By the file, at the command line. */
export async function amendLife(stage, folder) {
  const file = join(folder, 'amended.yaml');
  const design = STUDIES.replace('[Nord, Süd, West]', '[Nord, Süd, West, Ost]').replace(
    'total: 60',
    'total: 50',
  );
  writeFileSync(file, design.replace(/version: .* "2026-01-10"/, 'version: "3.0", date: "2026-03-02"'));
  const args = ['--studies', file, '--reason', 'new site', ...BY_RUIZ];
  await stage.urn('studies', 'amend', LIFE, ...args);
  await stage.enrol('user', LIFE, ['A013', { site: 'Ost', sex: 'Male' }]);
}

const at = (factor, level) => ({ factor, level });
const FEMALE = { sex: 'Female' };
const LIMITS = { total: 30, levels: [{ ...at('ward', 'one'), max: 29 }] };

/** Every kind of change, with participants between. */
export async function amendments(stage) {
  let amendment = 0;
  let participants = 0;
  const enrol = async (...levels) => {
    for (const more of levels) await stage.enrol('user', AMENDED, [`p${++participants}`, more]);
  };
  const amend = (changes, more = {}) => {
    const body = {
      study: AMENDED,
      amendment: ++amendment,
      changes,
      reason: 'protocol',
      approvals: [],
      ...more,
    };
    return stage.post('manager', '/amendments', body);
  };
  const [one, two, three] = ['one', 'two', 'three'].map((ward) => ({ ward, ...FEMALE }));
  await enrol(one, two, one, two);
  await amend([
    { kind: 'level-added', ...at('ward', 'three') },
    { kind: 'level-closed', ...at('ward', 'two') },
  ]);
  await enrol(three);
  await stage.refusedTo('user', AMENDED, 'p-two', two);
  await amend([
    { kind: 'level-reopened', ...at('ward', 'two') },
    { kind: 'level-renamed', ...at('ward', 'three'), to: 'drei', alias: true },
    { kind: 'level-renamed', ...at('sex', 'Male'), to: 'Man' },
  ]);
  await enrol(two, three, { ward: 'drei', sex: 'Man' });
  await amend([{ kind: 'arm-closed', treatment: 'C' }]);
  await enrol(one, two);
  await amend([
    { kind: 'arm-reopened', treatment: 'C' },
    { kind: 'urn', w: 3, alpha: 1, beta: 2, D: 'range' },
  ]);
  await enrol(one);
  await amend([{ kind: 'arm-added', treatment: 'D' }], { history: 'keep' });
  await enrol(two);
  await amend([{ kind: 'arm-added', treatment: 'E', ratio: 2 }]);
  await enrol(one, two);
  await amend([{ kind: 'ratio', value: [1, 1, 1, 1, 3] }], { protocol: { version: '4.0' } });
  await enrol(one);
  await amend([{ kind: 'factor-retired', factor: 'sex' }], { history: 'restart' });
  await enrol({ ward: 'one' });
  await amend([
    { kind: 'limits', value: LIMITS },
    { kind: 'id-pattern', value: 'p[0-9]+' },
    { kind: 'target', value: 30 },
    { kind: 'blinding', value: 'blinded' },
    { kind: 'policy', name: 'level_counts', value: 'as-corrected' },
    { kind: 'policy', name: 'void_counts', value: 'removed' },
    { kind: 'policy', name: 'forced_counts', value: 'not-counted' },
    { kind: 'policy', name: 'stop_at_limit', value: true },
  ]);
  const correction = { study: AMENDED, id: 'p1', cause: 'entry', note: 'source document' };
  const changes = [{ factor: 'ward', from: 'one', to: 'two' }];
  await stage.post('corrector', '/level_corrections', { ...correction, changes });
  await enrol({ ward: 'two' });
  await amend([{ kind: 'limits', value: { total: participants } }]);
  await stage.refusedTo('user', AMENDED, 'p99', { ward: 'one' });
  await amend([
    { kind: 'limits' },
    { kind: 'id-pattern' },
    { kind: 'target' },
    { kind: 'blinding', value: 'open' },
    { kind: 'policy', name: 'stop_at_limit', value: false },
    { kind: 'policy', name: 'level_counts', value: 'as-randomized' },
  ]);
  await amend([{ kind: 'ratio', value: [1, 1, 1, 1, 1] }]);
  await enrol({ ward: 'drei' });
  await amend([], { protocol: { version: '5.0', date: '2026-03-03' } });
}

/** One import is given up and another made; the state of a third begins anew. */
export async function imports(stage, folder) {
  const rows = readFileSync(here('../reference-export.csv'), 'utf8').split('\n').slice(0, 13);
  const history = join(folder, 'history.csv');
  // The arm of the last row but one was overridden, and the state of the last is that of no draw.
  const changed = rows.map((row, n) => {
    if (n === 10)
      return row.replace(
        /,(Control|Low dose|High dose),/,
        (_, arm) => `,${arm === 'Control' ? 'Low dose' : 'Control'},`,
      );
    if (n === 12) return row.replace(/'state': \d+/, "'state': 12345");
    return n === 11 ? row.replace(/"\{.*/, '') : row;
  });
  writeFileSync(history, `${changed.join('\n')}\n`);
  const into = (study, from) => ['import', '--study', study, '--from', from, ...BY_RUIZ];
  await stage.urnKilledBy(here('kill-before-end-of-import.mjs'), ...into(HARVEST, history));
  await stage.start();
  const levels = { site: '03-West', sex: 'Female', 'prior (1+) lines': '0' };
  await stage.refusedTo('user', HARVEST, 'h1', levels);
  await stage.stop();
  await stage.urn('import', '--study', HARVEST, '--abort', '--reason', 'the wrong generator');
  await stage.urn(...into(HARVEST, history), '--generator', 'continued', '--seed-known');
  const mapped = join(folder, 'mapped.csv');
  const lines = ['A1', 'B', 'A2', 'A1'].map(
    (arm, n) => `m${n},${n % 2 ? 'x' : 'y'},${arm},2026-01-0${n + 1} 10:00:00,site`,
  );
  writeFileSync(mapped, ['id,f_site,trt,datetime,user', ...lines, ''].join('\n'));
  await stage.urn(...into(MAPPED, mapped), '--format', 'csv', '--treatment-map', 'A1=A,A2=A');
  await stage.start();
  await stage.enrol('user', HARVEST, ['h1', levels], ['h2', levels]);
  await stage.enrol('user', MAPPED, ['n1', { site: 'x' }], ['n2', { site: 'y' }]);
}

/** Everything that is recorded of what was shown. */
export async function disclosures(stage, folder) {
  const paths = ['/study_participants', '/study_config', '/balance', '/records', '/verification'];
  for (const path of paths) await stage.shown('auditor', path, { study: LIFE });
  await stage.shown('auditor', '/bundle', { study: LIFE, content: 'blinded' });
  await stage.shown('auditor', '/expected_balance', { study: LIFE });
  await stage.shown('auditor', '/explanation', { study: LIFE, id: 'A002' });
  await stage.urn('explain', ...OF_LIFE, '--id', 'A009');
  await stage.urn('studies', 'show', LIFE);
  await stage.urn('studies', 'expected', LIFE, '--reps', '50');
  await stage.urn('codes', 'list', ...OF_LIFE);
  await stage.urn('code-breaks', 'print', ...OF_LIFE, '--id', 'A002', '--out', join(folder, 'envelope'));
  for (const more of [[], ['--blinded']])
    await stage.urn(
      'export',
      ...OF_LIFE,
      '--format',
      'csv',
      '--out',
      join(folder, `life${more.length}.csv`),
      ...more,
    );
  const outcomes = Array.from({ length: 13 }, (_, n) => `A${String(n + 1).padStart(3, '0')},${n % 5}`);
  const file = join(folder, 'outcomes.csv');
  writeFileSync(file, ['id,change', ...outcomes].join('\n'));
  const test = [
    '--outcomes',
    file,
    '--outcome',
    'change',
    '--statistic',
    'mean',
    '--arms',
    'Placebo,Low dose',
  ];
  await stage.urn('rerandomize', ...OF_LIFE, ...test, '--reps', '99', '--interim', 'the DSMB asked for it');
}

/** Sessions, and refusals for every reason that can be brought about. */
export async function access(stage) {
  const headers = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ key: stage.keys.auditor });
  const begun = await fetch(`${stage.url}/session`, { method: 'POST', headers, body });
  const [cookie] = begun.headers.getSetCookie()[0].split(';');
  const ended = await fetch(`${stage.url}/session`, {
    method: 'DELETE',
    headers: { ...headers, Cookie: cookie },
  });
  if (ended.status !== 200) throw new Error(await ended.text());

  const { keyId } = JSON.parse(await stage.urn('keys', 'list', '--json')).find(({ user }) => user === 'left');
  await stage.urn('keys', 'revoke', keyId, '--reason', 'left the hospital');
  await stage.refused(401, 'left', '/study_config', { study: LIFE });
  await stage.refused(401, 'expired', '/study_config', { study: LIFE });
  await stage.refused(400, 'user', '/study_participants', { study: LIFE, id: 'A001' }, 'POST');
  await stage.refusedTo('user', LIFE, 'A002', NORD, 400);
  await stage.refusedTo('nurse', LIFE, 'A050', SUED, 422, { 'Idempotency-Key': 'visit-1' });
  await stage.refusedTo('doctor', LIFE, 'A050', NORD, 403);
  await stage.refused(404, 'user', '/study_config', { study: 'Nothing' });
  const stale = { study: LIFE, id: 'A001', cause: 'entry', note: 'late' };
  const changes = [{ factor: 'sex', from: 'Female', to: 'Male' }];
  await stage.post('corrector', '/level_corrections', { ...stale, changes }, 409);
  // A defect of this version: an answer of 500.
  await stage.post('manager', '/amendments', `${'['.repeat(6000)}${']'.repeat(6000)}`, 500);
  const streams = await Promise.all(
    [1, 2, 3].map(() => fetch(`${stage.url}/changes?study=${OTHER}&api_key=${stage.keys.idle}`)),
  );
  await stage.refused(429, 'idle', '/changes', { study: OTHER });
  for (const { body } of streams) await body.cancel();
  // Nobody gets a pack when one arm has none left.
  const left = (await packs(stage)).filter(({ trt, state }) => trt === 'High dose' && state === 'free');
  const recall = { study: LIFE, codes: left.map(({ code }) => code), reason: 'recall of all' };
  await stage.post('pharmacy', '/code_withdrawals', recall);
  await stage.refusedTo('user', LIFE, 'A050', NORD);
}

/** The file says what was never registered. */
export async function suspended(stage, folder) {
  const file = join(folder, 'other.yaml');
  writeFileSync(file, STUDIES.replace(/(Other:\n  mode: live\n)/, '$1  w: 7\n'));
  await stage.start(file);
  await stage.refusedTo('user', OTHER, 'o1', { site: 'x' }, 503);
  await stage.stop();
}
