/**
 * A whole scenario at the most talkative log level; then everything that the service said anywhere is searched for
 * everything that it must not say there.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Ask, ask, rawRequest, talk, within } from '../support/client.ts';
import { command, commandOk } from '../support/command.ts';
import { requiredPython } from '../support/numpy.ts';
import { registerPacks } from '../support/pack-lists.ts';
import { postJson } from '../support/post-json.ts';
import { issueKeys, type Service, serve, urn } from '../support/service.ts';
import { damageLastRecord, storedLog } from '../support/stored-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../support/trials.ts';
import { BundleFiles } from './audit/bundle-file.ts';

const data = temporaryFolders()();
const python = requiredPython('numpy, cryptography') ?? '';
const GRANTS = {
  reader: ['reader', '--scope', 'read,randomize'],
  writer: ['writer', '--scope', 'randomize'],
  blinded: ['blinded', '--scope', 'blinded,randomize'],
  auditor: ['auditor', '--scope', 'read,audit'],
  leaver: ['leaver'],
  breaker: ['breaker', '--scope', 'blinded,unblind'],
  manager: ['manager', '--scope', 'manage'],
  corrector: ['corrector', '--scope', 'blinded,randomize,correct'],
  enterer: ['enterer', '--scope', 'force,correct'],
  supplier: ['supplier', '--scope', 'supply'],
} as const;
type Name = keyof typeof GRANTS;
let keys: Record<Name, string>;

/** Every site has packs of both arms, of one, or of the other. */
const PACKED = `
Packed:
  mode: live
  blinding: blinded
  treatments: [ZZTREATA, ZZTREATB]
  factors:
    site: [both, first, second]
  visits: [V2, V3]
`;
const STUDIES = `${TRIALS}${PACKED}`;
const numbers = (from: number, number: number, step: number) =>
  Array.from({ length: number }, (_, i) => from + i * step);
/** Packs with even numbers hold one treatment, the others the other. */
const LISTS = Object.entries({
  both: numbers(0, 200, 1),
  first: numbers(200, 10, 2),
  second: numbers(221, 10, 2),
}).map(([level, of]) => ({
  where: { factor: 'site', level },
  entries: of.map((n) => ({ code: `ZZPACK-${n}`, treatment: n % 2 === 0 ? 'ZZTREATA' : 'ZZTREATB' })),
}));
const CODES = LISTS.flatMap(({ entries }) => entries.map(({ code }) => code));

/** What the service said: on stderr and stdout, start by start, and in answers, key by key. */
const logs: string[] = [];
const inTheOpen: string[] = [];
const answers: { readonly name: Name; readonly path: string; readonly answer: Answer }[] = [];

/** Free text about a participant, and who asked: sealed. */
const GROUNDS = { reason: 'ZZGROUNDS of the code-break', requested_by: 'ZZGROUNDS Dr. K.' };
const NOTE = 'ZZGROUNDS of the correction';
const NO_ARM = 'ZZTREAT of no study';
const ADDED = 'ZZTREAT added by';
const IDEMPOTENCY_KEYS = ['ZZIDEMPOTENCY-first', 'ZZIDEMPOTENCY-second', 'ZZIDEMPOTENCY-third'];
const as = async (service: Service, name: Name, path: string, options: Ask = {}) => {
  const answer = await ask(service.url, path, { key: keys[name], ...options });
  answers.push({ name, path, answer });
  return answer;
};

async function started(studies: string, use: (service: Service) => Promise<void>): Promise<void> {
  const service = await serve({ data, studies, args: ['--log-level', 'trace'], env: { DEBUG: '*' } });
  try {
    await use(service);
    for (const path of ['/metrics', '/openapi.json', '/docs', '/docs/start.js', '/readyz', '/healthz']) {
      const response = await fetch(`${service.url}${path}`);
      inTheOpen.push(JSON.stringify([...response.headers]), await response.text());
    }
  } finally {
    await service.stop();
    logs.push(service.output.stdout, service.output.stderr);
  }
}

/** Every operation with every key, right and wrong. */
async function everyRequest(service: Service, id: string): Promise<void> {
  for (const name of Object.keys(GRANTS) as Name[]) {
    const post = (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
      as(service, name, '/study_participants', {
        method: 'POST',
        parameters: { study: 'Sleep', ...parameters },
        headers: { 'X-On-Behalf-Of': 'Dr. Example', ...headers },
      });
    const own = `${id}-${name}`;
    for (const key of IDEMPOTENCY_KEYS) await post({ id: own, ...COOK }, { 'Idempotency-Key': key });
    await post({ id: own, ...DUPAGE });
    await post({ id: own, ...COOK });
    await post({ id: `${own}-more`, ...DUPAGE });
    await post({ id: ' ', sex: 'none' });
    for (const path of ['/study_config', '/study_participants'])
      for (const parameters of [
        { study: 'Sleep' },
        { study: 'Ward' },
        { study: 'Dream' },
        {},
        { study: 'Sleep', x: 'y' },
      ])
        await as(service, name, path, { parameters });
    for (const path of [
      '/explanation',
      '/balance',
      '/expected_balance',
      '/study_config',
      '/study_participants',
    ])
      for (const parameters of [{}, { id: own }, { 'urn.revision': '1' }, { 'urn.at': '2100-01-01T00:00Z' }])
        await as(service, name, path, { parameters: { study: 'Sleep', ...parameters } });
    for (const path of ['/records', '/verification', '/checkpoint', '/inclusion_proof', '/consistency_proof'])
      for (const parameters of [{}, { revision: '1' }, { first: '1' }])
        await as(service, name, path, { parameters: { study: 'Sleep', ...parameters } });
    await everyList(service, name, own);
    await as(service, name, '/study_config', { method: 'DELETE' });
    await everyCodeBreak(service, name, own);
    await everyCorrection(service, name, own);
    await everyAmendment(service, name, own);
    await everyEntry(service, name, own);
    await everyPack(service, name, own);
    for (const study of ['Sleep', 'Packed']) await listedAsCsv(service, name, study);
  }
}

/** What the pages for people read. */
async function everyList(service: Service, name: Name, own: string): Promise<void> {
  await as(service, name, '/studies');
  for (const study of ['Sleep', 'Packed']) await as(service, name, '/enrolment', { parameters: { study } });
  for (const sort of ['id', 'time', 'f_sex', 'trt', 'ZZTREATA'])
    for (const more of [{}, { 'urn.search': own, 'urn.limit': '5' }])
      await as(service, name, '/study_participants', {
        parameters: { study: 'Sleep', 'urn.sort': sort, 'urn.order': 'desc', ...more },
      });
}

/** Codes that a request named, so that its answer may name them. */
const namedCodes = new Set<string>();

/** Packs: given out, refused, replaced until that is refused, withdrawn, entered, broken, and then shown. */
async function everyPack(service: Service, name: Name, own: string): Promise<void> {
  const of = (id: string, site: string) => ({ study: 'Packed', id, site });
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await postJson(service.url, path, keys[name], { study: 'Packed', ...body }, headers);
    answers.push({ name, path, answer });
    return answer;
  };
  const enrol = (id: string, site: string, more = {}) =>
    as(service, name, '/study_participants', { method: 'POST', parameters: { ...of(id, site), ...more } });
  const enrolled = await enrol(own, 'both');
  await enrol(own, 'both');
  for (const site of ['first', 'second']) {
    const answer = await enrol(`${own}-out`, site);
    noPack.push({ name, answer });
    await enrol(`${own}-out`, site, { 'urn.dry_run': 'true' });
  }
  let code: string | undefined = enrolled.results[0]?.['urn.code'];
  for (let n = 0; n < 4 && code !== undefined; n++) {
    const replaced = await post('/code_replacements', { id: own, code, cause: 'lost' });
    code = replaced.results.by ?? undefined;
  }
  await post('/code_replacements', { id: own, code: 'ZZPACK-0', cause: 'lost', dry_run: true });
  await everyVisit(post, own);
  const free = await ask(service.url, '/codes', { key: keys.supplier, parameters: { study: 'Packed' } });
  const [one = '', two = ''] = (free.results.codes ?? []).flatMap((pack: Record<string, string>) =>
    pack['state'] === 'free' && pack['where'] !== undefined ? [pack['code']] : [],
  );
  for (const named of [one, two].filter((text) => text !== '')) namedCodes.add(named);
  const entry = { levels: { site: 'both' }, treatment: 'ZZTREATA', cause: 'outage', note: NOTE };
  const occurred_at = new Date().toISOString();
  for (const given of [one, two, 'ZZPACK-none'])
    await post('/forced_allocations', { ...entry, id: `${own}-f`, code: given, occurred_at, dry_run: true });
  for (const more of [{ dry_run: true }, {}, {}])
    await post('/code_withdrawals', { codes: [two, 'ZZPACK-none'], reason: GROUNDS.reason, ...more });
  for (const asked of [{ code: one }, { code: 'ZZPACK-none' }, { id: own }, {}])
    await post('/code_breaks', { ...asked, category: 'emergency', ...GROUNDS });
  await post('/code_withdrawals', { codes: [two], reason: GROUNDS.reason });
  const parameters = { study: 'Packed' };
  for (const path of [
    '/codes',
    '/pack_accountability',
    '/study_participants',
    '/code_breaks',
    '/study_design',
    '/study_form',
    '/study_config',
  ])
    await as(service, name, path, { parameters });
  await as(service, name, '/participant_history', { parameters: { ...parameters, id: own } });
}

type Post = (path: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

/** Packs of visits: given out, refused, told again, corrected. */
async function everyVisit(post: Post, id: string): Promise<void> {
  const retry = { 'Idempotency-Key': `ZZIDEMPOTENCY-/dispensations-${id}` };
  let code: string | undefined;
  for (const [visit, more, headers] of [
    ['V2', { dry_run: true }, {}],
    ['V2', {}, retry],
    ['v2', {}, retry],
    ['V3', {}, retry],
    ['V2', {}, {}],
    ['V3', {}, {}],
    ['U1', {}, {}],
    ['ZZTREATA', {}, {}],
    ['ZZTREATB ', {}, {}],
  ] as const) {
    const { results } = await post('/dispensations', { id, visit, ...more }, headers);
    code ??= results.code;
  }
  for (const [of, to] of [
    [code, 'V3'],
    [code, null],
    [code, null],
    ['ZZPACK-0', null],
    [code, 'ZZTREATA'],
    [code, 'U2'],
    [code, 'V2'],
  ] as const) {
    const body = { id, code: of ?? 'ZZPACK-1', to, cause: 'entry', note: NOTE };
    for (const more of [{ dry_run: true }, {}]) await post('/dispensation_corrections', { ...body, ...more });
  }
}

/** Answers to those who asked at a site that has no packs of one arm: of the first one, then of the second one, key by key. */
const noPack: { readonly name: Name; readonly answer: Answer }[] = [];

/** Every correction, as one that is possible, as one that is not, as a retry and as a dry run; then what shows it. */
async function everyCorrection(service: Service, name: Name, own: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const about = { study: 'Sleep', id: own, ...body };
    const retry = { 'Idempotency-Key': `ZZIDEMPOTENCY-${path}-${own}` };
    const tries: [object, Readonly<Record<string, string>>][] = [
      [{ dry_run: true }, {}],
      [{}, retry],
      [{}, retry],
      [{}, {}],
      [{ id: 'nobody' }, {}],
    ];
    for (const [more, headers] of tries) {
      const answer = await postJson(service.url, path, keys[name], { ...about, ...more }, headers);
      answers.push({ name, path, answer });
    }
  };
  const change = { factor: 'sex', from: COOK.sex, to: COOK.sex === 'Male' ? 'Female' : 'Male' };
  const duplicate = { cause: 'duplicate', duplicate_of: 'first-reader', analysis: 'exclude' };
  await post('/level_corrections', { changes: [change], cause: 'entry', note: NOTE });
  await post('/level_corrections', { changes: [{ ...change, to: 'nothing' }], cause: 'entry', note: NOTE });
  await post('/voids', { ...duplicate, note: NOTE });
  await post('/reinstatements', { note: NOTE });
  await post('/voids', { ...duplicate, cause: 'never-enrolled', note: NOTE });
  await post('/voids', { cause: 'never-enrolled', analysis: 'exclude', note: NOTE });
  await post('/id_corrections', { to: `${own}-renamed`, cause: 'entry' });
  for (const parameters of [{}, { id: own }, { sex: change.to }])
    for (const view of ['current', 'as_randomized'])
      await as(service, name, '/study_participants', {
        parameters: { study: 'Sleep', 'urn.view': view, ...parameters },
      });
  for (const path of ['/participant_history', '/balance', '/explanation'])
    await as(service, name, path, { parameters: { study: 'Sleep', id: `${own}-renamed` } });
  await as(service, name, '/balance', { parameters: { study: 'Sleep' } });
}

/** Amendments, possible or not, tried out, retried and late; then what shows them, and a request under each name. */
async function everyAmendment(service: Service, name: Name, own: string): Promise<void> {
  const parameters = { study: 'Sleep' };
  const shown = await ask(service.url, '/study_design', { key: keys.reader, parameters });
  const next = (shown.results.design?.amendment ?? 0) + 1;
  const of = { factor: 'local_site' };
  const changes = [
    { ...of, kind: 'level-added', level: own },
    { ...of, kind: 'level-closed', level: own },
    { ...of, kind: 'level-renamed', level: KANE.local_site, to: `Kane ${own}` },
    { ...of, kind: 'level-renamed', level: `Kane ${own}`, to: KANE.local_site, alias: true },
    { kind: 'target', value: next },
    // So participants get a slot, too; the arm itself is never drawn.
    { kind: 'arm-added', treatment: `${ADDED} ${own}`, ratio: 2 },
    { kind: 'arm-closed', treatment: `${ADDED} ${own}` },
    { kind: 'arm-closed', treatment: 'ZZTREATA' },
    { kind: 'arm-reopened', treatment: 'ZZTREATA' },
    { kind: 'urn', w: next + 1 },
  ];
  const retry = { 'Idempotency-Key': `ZZIDEMPOTENCY-/amendments-${own}` };
  for (const [more, headers] of [
    [{ dry_run: true }, {}],
    [{}, retry],
    [{}, retry],
    [{}, {}],
    [{ amendment: next + 1 }, {}],
    [{ changes: [{ kind: 'arm-closed' }] }, {}],
    [{ changes: [{ kind: 'arm-reopened', treatment: 'ZZTREATB' }], amendment: next + 1 }, {}],
    [{ changes: [{ kind: 'arm-closed', treatment: 'ZZTREATB' }], amendment: next + 1 }, {}],
    [{ changes: [{ kind: 'ratio', value: [2, 1] }], amendment: next + 1, dry_run: true }, {}],
  ] as const) {
    const body = { ...parameters, amendment: next, changes, reason: 'ZZOPEN', ...more };
    const answer = await postJson(service.url, '/amendments', keys[name], body, headers);
    answers.push({ name, path: '/amendments', answer });
  }
  for (const local_site of [own, `Kane ${own}`, KANE.local_site]) {
    const levels = { sex: 'Male', local_site };
    await as(service, name, '/study_participants', { parameters: { ...parameters, local_site } });
    const asked = { ...parameters, id: `${own}-${local_site}`, ...levels };
    await as(service, name, '/study_participants', { method: 'POST', parameters: asked });
  }
  for (const path of ['/study_design', '/study_config']) await as(service, name, path, { parameters });
}

/** Allocations made outside, possible or not, tried out, retried, voided and entered anew; then what shows them. */
async function everyEntry(service: Service, name: Name, own: string): Promise<void> {
  const id = `${own}-forced`;
  const post = async (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await postJson(
      service.url,
      path,
      keys[name],
      { study: 'Sleep', id, note: NOTE, ...body },
      headers,
    );
    answers.push({ name, path, answer });
    return answer;
  };
  const entry = {
    levels: COOK,
    treatment: 'ZZTREATA',
    cause: 'outage',
    occurred_at: new Date().toISOString(),
  };
  const retry = { 'Idempotency-Key': `ZZIDEMPOTENCY-/forced_allocations-${own}` };
  const force = (more: object, headers = {}) => post('/forced_allocations', { ...entry, ...more }, headers);
  await force({ dry_run: true });
  const { headers } = await force({}, retry);
  await force({}, retry);
  for (const more of [{ treatment: 'ZZTREATB' }, { note: 'ZZGROUNDS, other ones' }]) await force(more, retry);
  for (const more of [
    {},
    { id: 'first-reader' },
    { id: ' ' },
    { treatment: NO_ARM },
    { treatment: ['ZZTREATA'] },
    { levels: { sex: 'ZZTREATA' } },
    { occurred_at: '2020-01-01T00:00:00Z' },
  ])
    await force(more);
  await post('/voids', { cause: 'entry', analysis: 'exclude' });
  await force({ treatment: 'ZZTREATB', replaces: Number(headers.get('urn-revision')) });
  await as(service, name, '/study_participants', {
    method: 'POST',
    parameters: { study: 'Sleep', id, ...COOK },
  });
  for (const path of ['/study_participants', '/participant_history', '/explanation'])
    await as(service, name, path, { parameters: { study: 'Sleep', id } });
}

async function listedAsCsv({ url }: Service, name: Name, study: string): Promise<void> {
  const headers = { 'X-API-Key': keys[name], Accept: 'text/csv' };
  const response = await fetch(`${url}/study_participants?study=${study}`, { headers });
  const text = await response.text();
  const answer = { status: response.status, headers: response.headers, text, message: '', results: [] };
  answers.push({ name, path: '/study_participants', answer });
}

/** Every request with a JSON body about a participant; the state of the study stays as it is. */
async function everyCodeBreak(service: Service, name: Name, own: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const about = { study: 'Sleep', ...GROUNDS, ...body };
    const retry = { 'Idempotency-Key': `ZZIDEMPOTENCY-${path}-${own}` };
    const answer = await postJson(service.url, path, keys[name], about, retry);
    answers.push({ name, path, answer });
  };
  const occurred = { how: 'label', occurred_at: '2026-01-02T03:04:05Z' };
  for (const id of [own, 'first-reader', 'nobody'])
    for (const more of [{ dry_run: true }, {}, { category: 'other' }, { unknown: 1 }]) {
      await post('/code_breaks', { id, category: 'emergency', ...more });
      await post('/unblindings', { id, ...occurred, ...more });
    }
  await post('/study_state', { action: 'close', cause: 'other', reason: 'ZZOPEN', dry_run: true });
  await as(service, name, '/code_breaks', { parameters: { study: 'Sleep' } });
  await as(service, name, '/participant_history', { parameters: { study: 'Sleep', id: own } });
  await as(service, name, '/study_participants', {
    method: 'POST',
    parameters: { study: 'Sleep', id: `${own}-dry`, ...COOK, 'urn.dry_run': 'true' },
  });
}

/** The key in every place where people put it by mistake. */
async function misplacedKeys({ url }: Service): Promise<void> {
  const key = keys.reader;
  const target = '/study_participants?study=Sleep&id=misplaced&sex=Male&local_site=45-Kane%20%283%2B%29';
  const requests = [
    rawRequest('GET', `/${key}`),
    rawRequest('GET', `/study_config/${key}`),
    rawRequest('GET', `/docs/${key}`),
    rawRequest('GET', `/study_config?${key}`),
    rawRequest('GET', `/study_config?study=${key}&api_key=${key}`),
    rawRequest('GET', `/study_config?study=%ff${key}&api_key=${key}`),
    rawRequest('GET', `/study_config?${key}=1&${key}=2`),
    rawRequest('GET', `/study_config?api_key=${key}&api_key=${key}`),
    rawRequest('GET', `/study_config?study=Sleep&api_key=${key}%20`),
    rawRequest('GET', `/study_config?study=Sleep&api_key=${key}`, [`X-API-Key: ${keys.writer}`]),
    rawRequest('POST', `${target}&api_key=${key}`, [`Idempotency-Key: ${key}`]),
    rawRequest('POST', `${target}&api_key=${key}`, [`X-On-Behalf-Of: ${key}`]),
    rawRequest('POST', `${target}&extra=${key}&api_key=${key}`),
    rawRequest('POST', target, [`Authorization: Basic ${key}`, `User-Agent: ${key}`, `Referer: ${key}`]),
    rawRequest('POST', target, [`Cookie: api_key=${key}`, `X-Forwarded-For: ${key}`, `X-Request-Id: ${key}`]),
    `${rawRequest('POST', target, [`Content-Length: ${key.length}`])}${key}`,
    rawRequest(key, '/study_config'),
    rawRequest('GET', key),
    `GET /study_config?api_key=${key} HTTP/9.9\r\n${key}\r\n\r\n`,
    rawRequest('GET', `/study_config?api_key=${key}`, [`X-Large: ${'x'.repeat(70_000)}`]),
    `${key}\r\n\r\n`,
  ];
  for (const request of requests) inTheOpen.push(await talk(url, request));
}

beforeAll(async () => {
  keys = await issueKeys(data, GRANTS);
  await started(STUDIES, async (service) => {
    await registerPacks(data, 'Packed', LISTS);
    await everyRequest(service, 'first');
    await misplacedKeys(service);
    const listed = JSON.parse(await commandOk(['keys', 'list', '--json', '--data', data])) as {
      keyId: string;
      user: string;
    }[];
    const { keyId = '' } = listed.find(({ user }) => user === 'leaver') ?? {};
    await commandOk(['keys', 'revoke', keyId, '--data', data]);
    await within(1_000, async () => (await as(service, 'leaver', '/study_config')).status === 401);
    await commandOk(['studies', 'pause', 'Sleep', '--reason', 'a question', '--data', data]);
    await within(1_000, async () => {
      const parameters = { study: 'Sleep', id: 'paused', ...COOK };
      return (
        (await as(service, 'writer', '/study_participants', { method: 'POST', parameters })).status === 409
      );
    });
    await everyRequest(service, 'paused');
  });
  await commandOk(['studies', 'resume', 'Sleep', '--reason', 'answered', '--data', data]);
  const exported = (format: string) => ['export', '--study', 'Sleep', '--format', format, '--data', data];
  await commandOk(exported('csv'));
  // The reference has no closed arms.
  const { code, stderr } = await command(exported('reference-csv'));
  expect(code, stderr).toBe(2);
  const changed = STUDIES.replace('[ZZTREATA, ZZTREATB]', '[ZZTREATC, ZZTREATB]').replace(
    'starting_seed: 3',
    'starting_seed: 9',
  );
  await started(changed, (service) => everyRequest(service, 'changed'));
  logs.push(
    (
      await urn([
        'serve',
        '--data',
        data,
        '--studies',
        fileOf('Sleep:\n  treatments: [ZZTREATA, "ZZTREATB]\n'),
      ])
    ).stderr,
  );
  damageLastRecord(data, storedLog(data).find(({ record }) => record.data.participantId)?.stream ?? '');
  await started(STUDIES, (service) => everyRequest(service, 'damaged'));
});

const folder = temporaryFolders()();
function fileOf(text: string): string {
  const file = join(folder, 'broken.yaml');
  writeFileSync(file, text);
  return file;
}

/** Values of these members of the sealed sections, wherever they are. */
const SEALED = [
  'salt',
  'seed',
  'state',
  'inc',
  'uinteger',
  'uniform53',
  'treatment',
  'sha256',
  'idempotencyKey',
  'key',
];

function sealedSecrets(value: unknown, found: Set<string> = new Set()): Set<string> {
  for (const [name, member] of Object.entries(value ?? {})) {
    if (typeof member === 'object') sealedSecrets(member, found);
    else if (SEALED.includes(name) && String(member).length > 5) found.add(String(member));
  }
  return found;
}

/** All that is sealed in the log, the keys, and what could be computed from them. */
function secrets(): string[] {
  const sealed = storedLog(data).flatMap((stored) => [...sealedSecrets(JSON.parse(stored.sealed))]);
  const ofKeys = Object.values(keys).flatMap((key) => [
    key,
    key.slice(4),
    ...(['hex', 'base64', 'base64url'] as const).map((encoding) =>
      createHash('sha256').update(key).digest(encoding),
    ),
  ]);
  return [...new Set([...sealed, ...ofKeys, ...IDEMPOTENCY_KEYS, 'ZZTREAT', 'ZZIDEMPOTENCY'])];
}

/** They show which arms the design has. */
const NAMING_ARMS: ReadonlySet<string> = new Set(['/study_config', '/study_design', '/amendments']);

/** Without the messages to those who entered an arm or a level that does not exist. */
const withoutNamed = (text: string) =>
  text
    .replaceAll(/the study has no treatment \\?"ZZTREAT of no study\\?" \(allowed: [^)]*\)/g, '')
    .replaceAll(/sex has no level \\?"ZZTREATA\\?"/g, '');

/** Members of draws as they are in JSON. */
const SLOTS = ['"slot":', '"draw":', '"balls":'];

const isArm = (secret: string) => secret.startsWith('ZZTREAT');
const found = (texts: readonly string[], of: readonly string[]) =>
  of.filter((secret) => texts.some((text) => text.includes(secret)));
const textsOf = (shown: typeof answers) =>
  shown.flatMap(({ answer }) => [answer.text, JSON.stringify([...answer.headers])]);

describe('the scenario', () => {
  it('went as planned, and the search finds what is there', () => {
    const statuses = new Set(answers.map(({ answer }) => answer.status));
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405, 409, 422, 503]));
    expect(logs.join('').match(/"msg":"request"/g)?.length).toBeGreaterThan(300);
    expect(logs.join('')).toContain('study suspended');
    expect(logs.join('')).toContain('cannot be read any further');
    expect(logs.join('')).toContain('not valid YAML');
    const all = secrets();
    expect(all.length).toBeGreaterThan(50);
    const audited = textsOf(answers.filter(({ name }) => name === 'auditor'));
    expect(found(audited, all).length).toBeGreaterThan(10);
  });
});

describe('no key, treatment, generator state, seed, uniform, salt, hash of a key or Idempotency-Key is in', () => {
  it('any line of the log', () => {
    expect(found(logs, secrets())).toEqual([]);
  });

  it('/metrics, /openapi.json, /docs, and the answers to misplaced keys', () => {
    expect(found(inTheOpen, secrets())).toEqual([]);
  });

  it('any header of any answer', () => {
    expect(
      found(
        answers.map(({ answer }) => JSON.stringify([...answer.headers])),
        secrets(),
      ),
    ).toEqual([]);
  });

  it.each([
    ...([
      'reader',
      'writer',
      'blinded',
      'leaver',
      'breaker',
      'manager',
      'corrector',
      'enterer',
      'supplier',
    ] as const),
  ])('what the key %s can read, except for the arms that its scopes show', (name) => {
    const told = textsOf(answers.filter((shown) => shown.name === name));
    expect(
      found(
        told,
        secrets().filter((secret) => !isArm(secret)),
      ),
    ).toEqual([]);
  });

  it.each(['writer', 'blinded', 'breaker', 'corrector'] as const)(
    'no participant shown to the key %s has an arm',
    (name) => {
      const told = answers.filter((shown) => shown.name === name && shown.path === '/study_participants');
      expect(found(textsOf(told), secrets())).toEqual([]);
      expect(told.some(({ answer }) => answer.status === 200 && answer.results.length > 0)).toBe(true);
    },
  );

  it('no answer but that to a code-break shows an arm to a key without read', () => {
    const broken = answers.filter(
      ({ path, answer }) => path === '/code_breaks' && answer.headers.has('urn-recorded'),
    );
    expect(new Set(broken.map(({ name }) => name))).toEqual(new Set(['breaker']));
    expect(found(textsOf(broken), ['ZZTREAT'])).toEqual(['ZZTREAT']);
    const blind: Name[] = ['writer', 'blinded', 'breaker', 'manager', 'corrector'];
    const others = answers.filter(
      (shown) => blind.includes(shown.name) && !NAMING_ARMS.has(shown.path) && !broken.includes(shown),
    );
    expect(found(textsOf(others), secrets())).toEqual([]);
  });

  it('no answer to a correction reveals an arm, and a blinded key is shown no balance', () => {
    const corrections = ['/level_corrections', '/voids', '/reinstatements', '/id_corrections'];
    const told = answers.filter(({ name, path }) => name === 'corrector' && corrections.includes(path));
    for (const path of corrections) {
      const answered = told.filter((one) => one.path === path && one.answer.status === 200);
      const recorded = answered.filter(({ answer }) => answer.headers.has('urn-receipt'));
      expect(recorded.length, path).toBeGreaterThan(0);
      expect(recorded.every(({ answer }) => answer.results.length === 1)).toBe(true);
      expect(answered.some(({ answer }) => answer.headers.has('urn-dry-run'))).toBe(true);
    }
    expect(found(textsOf(told), secrets())).toEqual([]);
    const balances = answers.filter(({ name, path }) => name === 'corrector' && path === '/balance');
    const statuses = balances.map(({ answer }) => answer.status);
    expect(statuses).toContain(403);
    expect(statuses).not.toContain(200);
  });

  it('no answer to an entered allocation names an arm, except to a request that named one that does not exist', () => {
    const told = answers.filter(({ name, path }) => name === 'enterer' && path === '/forced_allocations');
    const recorded = told.filter(({ answer }) => answer.headers.has('urn-receipt'));
    expect(recorded.length).toBeGreaterThan(2);
    expect(recorded.every(({ answer }) => answer.results.length === 0)).toBe(true);
    expect(told.some(({ answer }) => answer.headers.has('urn-dry-run'))).toBe(true);
    const statuses = told.map(({ answer }) => answer.status);
    expect(statuses).toEqual(expect.arrayContaining([200, 400, 422, 503]));
    expect(found(textsOf(told), ['ZZTREATB'])).toEqual(['ZZTREATB']);
    expect(found(textsOf(told).map(withoutNamed), secrets())).toEqual([]);
    const refused = answers.filter(({ name, path }) => name !== 'enterer' && path === '/forced_allocations');
    expect(found(textsOf(refused), [...secrets(), 'ZZGROUNDS'])).toEqual([]);
    expect(refused.some(({ answer }) => answer.status === 200)).toBe(false);
  });

  it('the design, and the answer to an amendment, name arms only as those of the study', () => {
    const told = answers.filter(({ path }) => ['/study_design', '/amendments'].includes(path));
    const without = textsOf(told).map((text) => text.replaceAll(/"(closed_)?treatments":\[[^\]]*\]/g, ''));
    expect(found(without, secrets())).toEqual([]);
    const made = told.filter(({ path, answer }) => path === '/amendments' && answer.status === 200);
    expect(new Set(made.map(({ name }) => name))).toEqual(new Set(['manager']));
    expect(made.filter(({ answer }) => answer.headers.has('urn-receipt')).length).toBeGreaterThan(2);
    expect(made.some(({ answer }) => answer.headers.has('urn-dry-run'))).toBe(true);
  });

  it('no key without audit is shown a slot, or anything else of a draw', () => {
    const told = textsOf(answers.filter(({ name }) => name !== 'auditor'));
    expect(found([...told, ...logs], SLOTS)).toEqual([]);
    const sealed = storedLog(data).map((stored) => stored.sealed);
    expect(found(sealed, SLOTS)).toEqual(SLOTS);
  });

  it('no key without read or audit is shown why a code was broken, or what was wrong', () => {
    const grounds = (names: readonly Name[]) =>
      found(textsOf(answers.filter(({ name }) => names.includes(name))), ['ZZGROUNDS']);
    expect(grounds(['writer', 'blinded', 'breaker', 'manager', 'leaver', 'corrector'])).toEqual([]);
    expect(grounds(['reader'])).toEqual(['ZZGROUNDS']);
    expect(found([...logs, ...inTheOpen], ['ZZGROUNDS'])).toEqual([]);
  });

  it('no error message for any key names an arm that the request did not name', () => {
    const messages = answers.map(({ answer }) => withoutNamed(answer.message));
    expect(found(messages, secrets())).toEqual([]);
  });
});

describe('which treatment a pack holds', () => {
  const free = () => {
    const given = storedLog(data).flatMap(({ record }) => [record.data.code, record.data.by]);
    return CODES.filter((code) => !given.includes(code) && !namedCodes.has(code));
  };
  /** As a whole word: ZZPACK-1 is not ZZPACK-10. */
  const shown = (texts: readonly string[], codes: readonly string[]) => {
    const all = new Set(texts.flatMap((text) => text.match(/ZZPACK-\d+/g) ?? []));
    return codes.filter((code) => all.has(code));
  };

  it('is shown only to the key supplier, in one place, and no other list but one has a pack that nobody has', () => {
    const told = (...paths: string[]) =>
      textsOf(answers.filter(({ name, path }) => name === 'supplier' && paths.includes(path)));
    const isList = (path: string) => ['/codes', '/pack_accountability'].includes(path);
    const elsewhere = answers.filter(({ name, path }) => name !== 'supplier' || !isList(path));
    expect(free().length).toBeGreaterThan(20);
    expect(shown(told('/codes'), free())).toEqual(free());
    expect(shown(told('/pack_accountability'), free())).toEqual(free());
    expect(shown(textsOf(elsewhere), free())).toEqual([]);
    const ofSupplier = answers.filter(({ name, path }) => name === 'supplier' && !NAMING_ARMS.has(path));
    const others = ofSupplier.filter(({ path }) => path !== '/codes');
    expect(found(textsOf(others), secrets())).toEqual([]);
    expect(found(textsOf(ofSupplier), ['ZZTREATA', 'ZZTREATB'])).toHaveLength(2);
    const gotMap = answers.filter(({ path, answer }) => isList(path) && answer.status === 200);
    expect(new Set(gotMap.map(({ name }) => name))).toEqual(new Set(['supplier']));
  });

  it('is in no line of the service log, and nothing public names a pack', () => {
    expect(shown([...logs, ...inTheOpen], CODES)).toEqual([]);
  });

  it('is not revealed by a refusal: whichever arm has no packs, its text and its headers are the same', () => {
    const all = noPack.map(({ name, answer }) => ({ name, ...answer }));
    const headersOf = (headers: Headers) =>
      [...headers].filter(([name]) => !['date', 'urn-revision'].includes(name));
    expect(all.filter(({ status }) => status === 409).length).toBeGreaterThan(4);
    for (let n = 0; n < all.length; n += 2) {
      const [first, second] = [all[n], all[n + 1]];
      expect([second?.name, second?.status]).toEqual([first?.name, first?.status]);
      // Refused before the packs were looked at, with the seconds that are left to wait.
      if (first?.status === 429) continue;
      expect(second?.text).toEqual(first?.text);
      expect(headersOf(second?.headers ?? new Headers())).toEqual(headersOf(first?.headers ?? new Headers()));
    }
  });

  it('is in no answer to a replacement, and a key without supply is refused after three', () => {
    const told = answers.filter(({ path }) => path === '/code_replacements');
    expect(found(textsOf(told), secrets())).toEqual([]);
    const statuses = told.map(({ answer }) => answer.status);
    expect(statuses).toEqual(expect.arrayContaining([200, 403, 404, 422]));
  });

  it('is in no answer about a visit, whoever asks, and those who may are given packs and corrections', () => {
    for (const [path, names] of [
      ['/dispensations', ['reader', 'writer', 'leaver', 'blinded', 'corrector']],
      ['/dispensation_corrections', ['corrector']],
    ] as const) {
      const told = answers.filter((one) => one.path === path);
      const given = told.filter(({ answer }) => answer.status === 200 && answer.results.code !== undefined);
      expect(new Set(given.map(({ name }) => name)), path).toEqual(new Set(names));
      expect(found(textsOf(told), ['ZZTREAT', NOTE]), path).toEqual([]);
    }
  });

  it('is not in the clear, nor which packs are withdrawn', () => {
    const ofPacks = storedLog(data).filter(({ record }) => record.type.startsWith('Code'));
    const types = new Set(ofPacks.map(({ record }) => record.type));
    expect(types).toEqual(new Set(['CodesRegistered', 'CodeReplaced', 'CodesWithdrawn']));
    const clear = storedLog(data).map(({ record }) => JSON.stringify(record));
    expect(shown(clear, free())).toEqual([]);
    expect(found(clear, ['ZZGROUNDS'])).toEqual([]);
  });

  it.skipIf(python === '').each(['open', 'blinded'])('is in no bundle with content %s', async (content) => {
    const file = join(folder, `${content}.zip`);
    await commandOk(['bundle', '--study', 'Packed', '--content', content, '--out', file, '--data', data]);
    // The verifier names the members of every event.
    const texts = [...BundleFiles.unpack(python, file).files]
      .filter(([name]) => name !== 'verify_bundle.py')
      .map(([, bytes]) => bytes.toString());
    expect(texts.join('')).toContain('"CodesRegistered"');
    expect(shown(texts, free())).toEqual([]);
    const keysOfLists = storedLog(data)
      .filter(({ record }) => record.type === 'CodesRegistered')
      .map(({ sealed }) => JSON.parse(sealed).codes.key);
    expect(keysOfLists).toHaveLength(3);
    expect(found(texts, [...keysOfLists, '"entries"', 'ZZGROUNDS'])).toEqual([]);
    if (content === 'blinded') expect(found(texts, ['"treatment":"'])).toEqual([]);
  });
});

describe('in the log of events', () => {
  it('no API key occurs, in the clear or sealed, nor anywhere else in the data folder', () => {
    for (const file of readdirSync(data)) {
      const bytes = readFileSync(join(data, file));
      for (const key of Object.values(keys)) expect(bytes.includes(key), file).toBe(false);
    }
  });

  it('what is sealed is not in the clear, except for the names of the arms, in the design', () => {
    const clear = storedLog(data);
    const texts = (records: typeof clear) => records.map(({ record }) => JSON.stringify(record));
    const ofDesign = ['StudyRegistered', 'StudyAmended'];
    const designs = clear.filter(({ record }) => ofDesign.includes(record.type));
    const others = clear.filter(({ record }) => !ofDesign.includes(record.type));
    expect(designs.some(({ record }) => record.type === 'StudyAmended')).toBe(true);
    expect(found(texts(others), [...secrets(), 'ZZGROUNDS'])).toEqual([]);
    expect(others.map(({ record }) => record.type)).toEqual(
      expect.arrayContaining([
        ...['AllocationRevealed', 'LevelsCorrected', 'AllocationVoided', 'AllocationReinstated'],
        ...['ParticipantIdCorrected', 'AllocationForced'],
      ]),
    );
    expect(others.filter(({ record }) => record.data.what === 'export')).toHaveLength(1);
    expect(found(texts(designs), secrets()).filter((secret) => !isArm(secret))).toEqual([]);
  });
});
