/**
 * A whole scenario at the most talkative log level; then everything that the service said anywhere is searched for
 * everything that it must not say there.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { withOpenLog } from '../support/cli-log.ts';
import { type Answer, type Ask, ask, rawRequest, talk, within } from '../support/client.ts';
import { command, commandOk } from '../support/command.ts';
import { filesIn } from '../support/files-in.ts';
import { registerPacks } from '../support/pack-lists.ts';
import { postJson } from '../support/post-json.ts';
import { serve } from '../support/service.ts';
import { issueKeysIn, type ServiceHere, serveHere } from '../support/service-here.ts';
import { damageLastRecord, type StoredText, storedLog } from '../support/stored-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';
import { COOK, DUPAGE, KANE, TRIALS } from '../support/trials.ts';

const newFolder = temporaryFolders();
const data = newFolder();
const folder = newFolder();
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
type Service = Pick<ServiceHere, 'url'>;
const NAMES = Object.keys(GRANTS) as Name[];
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
/** In the end. */
let log: readonly StoredText[];
/** Everything that they must not say. */
let secrets: readonly string[];
const answers: {
  readonly name: Name;
  readonly path: string;
  readonly answer: Answer;
  /** The body, and the headers. */
  readonly texts: readonly [string, string];
}[] = [];
/** Codes that a request named, so that its answer may name them. */
const namedCodes = new Set<string>();
/** Answers to those who asked at a site that has no packs of one arm: of the first one, then of the second one, key by key. */
const noPack: { readonly name: Name; readonly answer: Answer }[] = [];

/** Free text about a participant, and who asked: sealed. */
const GROUNDS = { reason: 'ZZGROUNDS of the code-break', requested_by: 'ZZGROUNDS Dr. K.' };
const NOTE = 'ZZGROUNDS of the correction';
const NO_ARM = 'ZZTREAT of no study';
const ADDED = 'ZZTREAT added by';
const IDEMPOTENCY_KEYS = ['ZZIDEMPOTENCY-first', 'ZZIDEMPOTENCY-second', 'ZZIDEMPOTENCY-third'];
const DRY = { dry_run: true };

/** Somebody with a key, whose answers are kept. */
class Asker {
  readonly url: string;
  readonly name: Name;
  /** An id that nobody else asks about. */
  readonly own: string;

  constructor({ url }: Service, name: Name, own = '') {
    this.url = url;
    this.name = name;
    this.own = own;
  }

  #keep(path: string, answer: Answer): Answer {
    const texts = [answer.text, JSON.stringify([...answer.headers])] as const;
    answers.push({ name: this.name, path, answer, texts });
    return answer;
  }

  async ask(path: string, options: Ask): Promise<Answer> {
    return this.#keep(path, await ask(this.url, path, { key: keys[this.name], ...options }));
  }

  /** Reads each of these, with each of the parameters. */
  async read(paths: readonly string[], ...all: readonly Record<string, string>[]): Promise<void> {
    for (const path of paths) for (const parameters of all) await this.ask(path, { parameters });
  }

  enrol(parameters: Record<string, string>, headers = {}): Promise<Answer> {
    return this.ask('/study_participants', { method: 'POST', parameters, headers });
  }

  async post(path: string, body: object, headers = {}): Promise<Answer> {
    return this.#keep(path, await postJson(this.url, path, keys[this.name], body, headers));
  }

  async listAsCsv(study: string): Promise<void> {
    const asked = { headers: { 'X-API-Key': keys[this.name], Accept: 'text/csv' } };
    const response = await fetch(`${this.url}/study_participants?study=${study}`, asked);
    const { status, headers } = response;
    const text = await response.text();
    this.#keep('/study_participants', { status, headers, text, message: '', results: [] });
  }

  /** The header of a retry of such a request. */
  retry(path: string): Record<string, string> {
    return { 'Idempotency-Key': `ZZIDEMPOTENCY-${path}-${this.own}` };
  }
}

/** The first time it is the program, with all that it and its libraries can say; then it is in this process. */
async function started(studies: string, use: (service: Service) => Promise<void>): Promise<void> {
  const service =
    logs.length === 0
      ? await serve({ data, studies, args: ['--log-level', 'trace'], env: { DEBUG: '*' } })
      : await serveHere(data, studies, {}, 'trace');
  try {
    await use(service);
    for (const path of ['/metrics', '/openapi.json', '/docs', '/docs/start.js', '/readyz', '/healthz']) {
      const response = await fetch(`${service.url}${path}`);
      inTheOpen.push(JSON.stringify([...response.headers]), await response.text());
    }
  } finally {
    await service.stop();
    logs.push(...Object.values(service.output));
  }
}

/** Every operation with these keys, right and wrong, but for those about packs: to them, all starts are the same. */
async function everyRequest(service: Service, id: string, names: readonly Name[] = NAMES): Promise<void> {
  for (const name of names) {
    const asker = new Asker(service, name, `${id}-${name}`);
    await everyRandomization(asker);
    await everyReading(asker);
    await everyCodeBreak(asker);
    await everyCorrection(asker);
    await everyAmendment(asker);
    await everyEntry(asker);
    await asker.listAsCsv('Sleep');
  }
}

async function everyRandomization(asker: Asker): Promise<void> {
  const { own } = asker;
  const enrol = (parameters: Record<string, string>, headers = {}) =>
    asker.enrol({ study: 'Sleep', ...parameters }, { 'X-On-Behalf-Of': 'Dr. Example', ...headers });
  for (const key of IDEMPOTENCY_KEYS) await enrol({ id: own, ...COOK }, { 'Idempotency-Key': key });
  for (const levels of [DUPAGE, COOK]) await enrol({ id: own, ...levels });
  await enrol({ id: `${own}-more`, ...DUPAGE });
  await enrol({ id: ' ', sex: 'none' });
  await asker.ask('/study_config', { method: 'DELETE' });
}

/** What auditors and pages read, too. */
async function everyReading(asker: Asker): Promise<void> {
  const study = 'Sleep';
  const ofSleep = (...all: readonly Record<string, string>[]) => all.map((one) => ({ study, ...one }));
  await asker.read(
    ['/study_config', '/study_participants'],
    ...[{ study }, { study: 'Ward' }, { study: 'Dream' }, {}, { study, x: 'y' }],
  );
  await asker.read(
    ['/explanation', '/balance', '/expected_balance', '/study_config', '/study_participants'],
    ...ofSleep({}, { id: asker.own }, { 'urn.revision': '1' }, { 'urn.at': '2100-01-01T00:00Z' }),
  );
  await asker.read(
    ['/records', '/verification', '/checkpoint', '/inclusion_proof', '/consistency_proof'],
    ...ofSleep({}, { revision: '1' }, { first: '1' }),
  );
  await asker.read(['/studies'], {});
  await asker.read(['/enrolment'], { study }, { study: 'Packed' });
  for (const sort of ['id', 'time', 'f_sex', 'trt', 'ZZTREATA']) {
    const sorted = { study, 'urn.sort': sort, 'urn.order': 'desc' };
    const searched = { ...sorted, 'urn.search': asker.own, 'urn.limit': '5' };
    await asker.read(['/study_participants'], sorted, searched);
  }
}

/** Every request with a JSON body about a participant; the state of the study stays as it is. */
async function everyCodeBreak(asker: Asker): Promise<void> {
  const { own } = asker;
  const post = (path: string, body: object) =>
    asker.post(path, { study: 'Sleep', ...GROUNDS, ...body }, asker.retry(path));
  const occurred = { how: 'label', occurred_at: '2026-01-02T03:04:05Z' };
  for (const id of [own, 'first-reader', 'nobody'])
    for (const more of [DRY, {}, { category: 'other' }, { unknown: 1 }]) {
      await post('/code_breaks', { id, category: 'emergency', ...more });
      await post('/unblindings', { id, ...occurred, ...more });
    }
  await post('/study_state', { action: 'close', cause: 'other', reason: 'ZZOPEN', ...DRY });
  await asker.read(['/code_breaks'], { study: 'Sleep' });
  await asker.read(['/participant_history'], { study: 'Sleep', id: own });
  await asker.enrol({ study: 'Sleep', id: `${own}-dry`, ...COOK, 'urn.dry_run': 'true' });
}

/** Every correction, as one that is possible, as one that is not, as a retry and as a dry run; then what shows it. */
async function everyCorrection(asker: Asker): Promise<void> {
  const { own } = asker;
  const study = 'Sleep';
  const change = { factor: 'sex', from: COOK.sex, to: COOK.sex === 'Male' ? 'Female' : 'Male' };
  const levels = { cause: 'entry', note: NOTE };
  const duplicate = { cause: 'duplicate', duplicate_of: 'first-reader', analysis: 'exclude', note: NOTE };
  for (const [path, body] of [
    ['/level_corrections', { changes: [change], ...levels }],
    ['/level_corrections', { changes: [{ ...change, to: 'nothing' }], ...levels }],
    ['/voids', duplicate],
    ['/reinstatements', { note: NOTE }],
    ['/voids', { ...duplicate, cause: 'never-enrolled' }],
    ['/voids', { cause: 'never-enrolled', analysis: 'exclude', note: NOTE }],
    ['/id_corrections', { to: `${own}-renamed`, cause: 'entry' }],
  ] as const) {
    const retry = asker.retry(path);
    for (const [more, headers] of [[DRY], [{}, retry], [{}, retry], [{}], [{ id: 'nobody' }]] as const)
      await asker.post(path, { study, id: own, ...body, ...more }, headers);
  }
  const views = ['current', 'as_randomized'].map((view) => ({ study, 'urn.view': view }));
  for (const parameters of [{}, { id: own }, { sex: change.to }])
    await asker.read(['/study_participants'], ...views.map((view) => ({ ...view, ...parameters })));
  await asker.read(['/participant_history', '/balance', '/explanation'], { study, id: `${own}-renamed` });
  await asker.read(['/balance'], { study });
}

/** Amendments, possible or not, tried out, retried and late; then what shows them, and a request under each name. */
async function everyAmendment(asker: Asker): Promise<void> {
  const { own } = asker;
  const parameters = { study: 'Sleep' };
  const shown = await ask(asker.url, '/study_design', { key: keys.reader, parameters });
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
  const body = { ...parameters, amendment: next, changes, reason: 'ZZOPEN' };
  const retry = asker.retry('/amendments');
  const later = (...these: object[]) => ({ changes: these, amendment: next + 1 });
  for (const [more, headers] of [
    [DRY],
    [{}, retry],
    [{}, retry],
    [{}],
    [{ amendment: next + 1 }],
    [{ changes: [{ kind: 'arm-closed' }] }],
    [later({ kind: 'arm-reopened', treatment: 'ZZTREATB' })],
    [later({ kind: 'arm-closed', treatment: 'ZZTREATB' })],
    [{ ...later({ kind: 'ratio', value: [2, 1] }), ...DRY }],
  ] as const)
    await asker.post('/amendments', { ...body, ...more }, headers);
  for (const local_site of [own, `Kane ${own}`, KANE.local_site]) {
    await asker.read(['/study_participants'], { ...parameters, local_site });
    await asker.enrol({ ...parameters, id: `${own}-${local_site}`, sex: 'Male', local_site });
  }
  await asker.read(['/study_design', '/study_config'], parameters);
}

/** Allocations made outside, possible or not, tried out, retried, voided and entered anew; then what shows them. */
async function everyEntry(asker: Asker): Promise<void> {
  const about = { study: 'Sleep', id: `${asker.own}-forced` };
  const entry = {
    ...{ ...about, levels: COOK, treatment: 'ZZTREATA', cause: 'outage', note: NOTE },
    occurred_at: new Date().toISOString(),
  };
  const path = '/forced_allocations';
  const retry = asker.retry(path);
  const force = (more: object, headers = {}) => asker.post(path, { ...entry, ...more }, headers);
  await force(DRY);
  const { headers } = await force({}, retry);
  for (const more of [{}, { treatment: 'ZZTREATB' }, { note: 'ZZGROUNDS, other ones' }])
    await force(more, retry);
  for (const id of [asker.own, 'first-reader', ' ']) await force({ id });
  for (const treatment of [NO_ARM, ['ZZTREATA']]) await force({ treatment });
  for (const more of [{}, { levels: { sex: 'ZZTREATA' } }, { occurred_at: '2020-01-01T00:00:00Z' }])
    await force(more);
  await asker.post('/voids', { ...about, note: NOTE, cause: 'entry', analysis: 'exclude' });
  await force({ treatment: 'ZZTREATB', replaces: Number(headers.get('urn-revision')) });
  await asker.enrol({ ...about, ...COOK });
  await asker.read(['/study_participants', '/participant_history', '/explanation'], about);
}

/** Packs: given out, refused, replaced until that is refused, withdrawn, entered, broken, and then shown. */
async function everyPack(asker: Asker): Promise<void> {
  const { own } = asker;
  const study = 'Packed';
  const post = (path: string, body: object, headers = {}) => asker.post(path, { study, ...body }, headers);
  const enrolled = await asker.enrol({ study, id: own, site: 'both' });
  await asker.enrol({ study, id: own, site: 'both' });
  for (const dry of [{}, { 'urn.dry_run': 'true' }])
    for (const site of ['first', 'second']) {
      const answer = await asker.enrol({ study, id: `${own}-out`, site, ...dry });
      noPack.push({ name: asker.name, answer });
    }
  let code: string | undefined = enrolled.results[0]?.['urn.code'];
  for (let n = 0; n < 4 && code !== undefined; n++) {
    const replaced = await post('/code_replacements', { id: own, code, cause: 'lost' });
    code = replaced.results.by ?? undefined;
  }
  await post('/code_replacements', { id: own, code: 'ZZPACK-0', cause: 'lost', ...DRY });
  await everyVisit(post, asker);
  const free = await ask(asker.url, '/codes', { key: keys.supplier, parameters: { study } });
  const [one = '', two = ''] = (free.results.codes ?? []).flatMap((pack: Record<string, string>) =>
    pack['state'] === 'free' && pack['where'] !== undefined ? [pack['code']] : [],
  );
  for (const named of [one, two].filter((text) => text !== '')) namedCodes.add(named);
  const entry = {
    ...{ id: `${own}-f`, levels: { site: 'both' }, treatment: 'ZZTREATA', cause: 'outage', note: NOTE },
    occurred_at: new Date().toISOString(),
  };
  for (const given of [one, two, 'ZZPACK-none'])
    await post('/forced_allocations', { ...entry, code: given, ...DRY });
  for (const more of [DRY, {}, {}])
    await post('/code_withdrawals', { codes: [two, 'ZZPACK-none'], reason: GROUNDS.reason, ...more });
  for (const asked of [{ code: one }, { code: 'ZZPACK-none' }, { id: own }, {}])
    await post('/code_breaks', { ...asked, category: 'emergency', ...GROUNDS });
  await post('/code_withdrawals', { codes: [two], reason: GROUNDS.reason });
  await asker.read(['/codes', '/pack_accountability', '/study_participants', '/code_breaks'], { study });
  await asker.read(['/study_design', '/study_form', '/study_config'], { study });
  await asker.read(['/participant_history'], { study, id: own });
  await asker.listAsCsv(study);
}

type Post = (path: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>;

/** Packs of visits: given out, refused, told again, corrected. */
async function everyVisit(post: Post, asker: Asker): Promise<void> {
  const { own: id } = asker;
  const retry = asker.retry('/dispensations');
  let code: string | undefined;
  const dispense = async (visit: string, more = {}, headers = {}) => {
    const { results } = await post('/dispensations', { id, visit, ...more }, headers);
    code ??= results.code;
  };
  await dispense('V2', DRY);
  for (const visit of ['V2', 'v2', 'V3']) await dispense(visit, {}, retry);
  for (const visit of ['V2', 'V3', 'U1', 'ZZTREATA', 'ZZTREATB ']) await dispense(visit);
  const correct = async (of: string | undefined, to: string | null) => {
    const body = { id, code: of ?? 'ZZPACK-1', to, cause: 'entry', note: NOTE };
    for (const more of [DRY, {}]) await post('/dispensation_corrections', { ...body, ...more });
  };
  await correct('ZZPACK-0', null);
  for (const to of ['V3', null, null, 'ZZTREATA', 'U2', 'V2']) await correct(code, to);
}

/** The key in every place where people put it by mistake. */
async function misplacedKeys({ url }: Service): Promise<void> {
  const key = keys.reader;
  const target = '/study_participants?study=Sleep&id=misplaced&sex=Male&local_site=45-Kane%20%283%2B%29';
  const requests = [
    ...['/', '/study_config/', '/docs/'].map((path) => rawRequest('GET', `${path}${key}`)),
    ...[
      ...[key, `study=${key}&api_key=${key}`, `study=%ff${key}&api_key=${key}`, `${key}=1&${key}=2`],
      ...[`api_key=${key}&api_key=${key}`, `study=Sleep&api_key=${key}%20`],
    ].map((query) => rawRequest('GET', `/study_config?${query}`)),
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
  keys = await withOpenLog(data, (log) => issueKeysIn(log, GRANTS));
  await started(STUDIES, async (service) => {
    await registerPacks(data, 'Packed', LISTS);
    await everyRequest(service, 'first');
    for (const name of NAMES) await everyPack(new Asker(service, name, `first-${name}`));
    await misplacedKeys(service);
    const listed: { keyId: string; user: string }[] = JSON.parse(
      await commandOk(['keys', 'list', '--json', '--data', data]),
    );
    const { keyId = '' } = listed.find(({ user }) => user === 'leaver') ?? {};
    await commandOk(['keys', 'revoke', keyId, '--data', data]);
    const leaver = new Asker(service, 'leaver', 'revoked');
    await within(1_000, async () => (await leaver.ask('/study_config', {})).status === 401);
    await commandOk(['studies', 'pause', 'Sleep', '--reason', 'a question', '--data', data]);
    const writer = new Asker(service, 'writer');
    const enrolling = () => writer.enrol({ study: 'Sleep', id: 'paused', ...COOK });
    await within(1_000, async () => (await enrolling()).status === 409);
    await everyRequest(service, 'paused', ['reader', 'corrector', 'enterer']);
  });
  await commandOk(['studies', 'resume', 'Sleep', '--reason', 'answered', '--data', data]);
  const exported = (format: string) => ['export', '--study', 'Sleep', '--format', format, '--data', data];
  await commandOk(exported('csv'));
  // The reference has no closed arms.
  const { code, stderr } = await command(exported('reference-csv'));
  expect(code, stderr).toBe(2);
  const changed = STUDIES.replace('[ZZTREATA, ZZTREATB]', '[ZZTREATC, ZZTREATB]');
  await started(changed, (service) =>
    everyRequest(service, 'changed', ['writer', 'auditor', 'blinded', 'manager', 'enterer']),
  );
  const broken = join(folder, 'broken.yaml');
  writeFileSync(broken, 'Sleep:\n  treatments: [ZZTREATA, "ZZTREATB]\n');
  logs.push((await command(['serve', '--data', data, '--studies', broken])).stderr);
  damageLastRecord(data, storedLog(data).find(({ record }) => record.data.participantId)?.stream ?? '');
  await started(STUDIES, (service) =>
    everyRequest(service, 'damaged', ['reader', 'auditor', 'breaker', 'corrector', 'enterer', 'supplier']),
  );
  log = storedLog(data);
  secrets = allSecrets();
  searchFor(secrets);
});

/** Values of these members of the sealed sections, wherever they are. */
const SEALED = new Set([
  ...['salt', 'seed', 'state', 'inc', 'uinteger', 'uniform53', 'treatment', 'sha256'],
  ...['idempotencyKey', 'key'],
]);

function sealedSecrets(value: unknown, into: Set<string>): void {
  for (const [name, member] of Object.entries(value ?? {})) {
    if (typeof member === 'object') sealedSecrets(member, into);
    else if (SEALED.has(name) && String(member).length >= START) into.add(String(member));
  }
}

/** All that is sealed in the log, the keys, and what could be computed from them. */
function allSecrets(): string[] {
  const all = new Set([...IDEMPOTENCY_KEYS, 'ZZTREAT', 'ZZIDEMPOTENCY']);
  for (const { sealed } of log) sealedSecrets(JSON.parse(sealed), all);
  for (const key of Object.values(keys)) {
    all.add(key).add(key.slice(4));
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      all.add(createHash('sha256').update(key).digest(encoding));
  }
  return [...all];
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

/** What is searched for is at least as long. */
const START = 6;

/** A number for the last four characters of what was read. */
const next = (hash: number, text: string, i: number) => ((hash << 5) ^ text.charCodeAt(i)) & 0xfffff;

/** By their first characters; most places in a text are ruled out by the first four. */
const byStart = new Map<string, string[]>();
const mayBegin = new Uint8Array(2 ** 20);

function searchFor(all: readonly string[]): void {
  for (const one of all) {
    const start = one.slice(0, START);
    byStart.set(start, [...(byStart.get(start) ?? []), one]);
    mayBegin[[0, 1, 2, 3].reduce((hash, i) => next(hash, one, i), 0)] = 1;
  }
}

/** What each text was found to have: it is read once, for thousands of secrets and several tests. */
const read = new Map<string, ReadonlySet<string>>();

function secretsIn(text: string): ReadonlySet<string> {
  const known = read.get(text);
  if (known) return known;
  const there = new Set<string>();
  for (let end = 0, hash = 0; end < text.length; end++) {
    hash = next(hash, text, end);
    if (mayBegin[hash] === 0) continue;
    const at = end - 3;
    for (const one of byStart.get(text.slice(at, at + START)) ?? [])
      if (text.startsWith(one, at)) there.add(one);
  }
  read.set(text, there);
  return there;
}

/** The secrets, or those of a few other texts, that one of the texts has. */
function found(texts: readonly string[], few?: readonly string[]): string[] {
  if (few) return few.filter((one) => texts.some((text) => text.includes(one)));
  return [...new Set(texts.flatMap((text) => [...secretsIn(text)]))];
}
const isArm = (secret: string) => secret.startsWith('ZZTREAT');
const toldTo = (...names: readonly Name[]) => answers.filter(({ name }) => names.includes(name));
const about = (...paths: readonly string[]) => answers.filter(({ path }) => paths.includes(path));
const textsOf = (shown: typeof answers) => shown.flatMap(({ texts }) => texts);
const statusesOf = (shown: typeof answers) => new Set(shown.map(({ answer }) => answer.status));
const namesOf = (shown: typeof answers) => new Set(shown.map(({ name }) => name));
const isRecorded = ({ answer }: (typeof answers)[number]) => answer.headers.has('urn-receipt');
const isDryRun = ({ answer }: (typeof answers)[number]) => answer.headers.has('urn-dry-run');

it('went as planned, and the search finds what is there', () => {
  const statuses = [200, 400, 401, 403, 404, 405, 409, 422, 503];
  expect([...statusesOf(answers)]).toEqual(expect.arrayContaining(statuses));
  expect(logs.join('').match(/"msg":"request"/g)?.length).toBeGreaterThan(300);
  for (const said of ['study suspended', 'cannot be read any further', 'not valid YAML'])
    expect(logs.join('')).toContain(said);
  expect(secrets.length).toBeGreaterThan(50);
  expect(found(textsOf(toldTo('auditor'))).length).toBeGreaterThan(10);
});

describe('no key, treatment, generator state, seed, uniform, salt, hash of a key or Idempotency-Key is in', () => {
  it.each<[string, () => readonly string[]]>([
    ['any line of the log', () => logs],
    ['/metrics, /openapi.json, /docs, and the answers to misplaced keys', () => inTheOpen],
    ['any header of any answer', () => answers.map(({ texts: [, headers] }) => headers)],
    [
      'any message, but for an arm that was named',
      () => answers.map(({ answer }) => withoutNamed(answer.message)),
    ],
  ])('%s', (_, texts) => {
    expect(found(texts())).toEqual([]);
  });

  it.each(NAMES.filter((name) => name !== 'auditor'))(
    'what %s can read, but for arms that its scopes show',
    (name) => {
      expect(found(textsOf(toldTo(name))).filter((secret) => !isArm(secret))).toEqual([]);
    },
  );

  it.each(['writer', 'blinded', 'breaker', 'corrector'] as const)(
    'a participant shown to %s, not even an arm',
    (name) => {
      const told = toldTo(name).filter(({ path }) => path === '/study_participants');
      expect(found(textsOf(told))).toEqual([]);
      expect(told.some(({ answer }) => answer.status === 200 && answer.results.length > 0)).toBe(true);
    },
  );

  it('any answer to a key without read, not even an arm, but in that to a code-break', () => {
    const broken = about('/code_breaks').filter(({ answer }) => answer.headers.has('urn-recorded'));
    expect(namesOf(broken)).toEqual(new Set(['breaker']));
    expect(found(textsOf(broken), ['ZZTREAT'])).toEqual(['ZZTREAT']);
    const blind = toldTo('writer', 'blinded', 'breaker', 'manager', 'corrector');
    const others = blind.filter((shown) => !NAMING_ARMS.has(shown.path) && !broken.includes(shown));
    expect(found(textsOf(others))).toEqual([]);
  });

  it('an answer to a correction, not even an arm; and a blinded key is shown no balance', () => {
    const corrections = ['/level_corrections', '/voids', '/reinstatements', '/id_corrections'];
    const told = toldTo('corrector');
    for (const path of corrections) {
      const answered = told.filter((one) => one.path === path && one.answer.status === 200);
      const recorded = answered.filter(isRecorded);
      expect(recorded.length, path).toBeGreaterThan(0);
      expect(recorded.every(({ answer }) => answer.results.length === 1)).toBe(true);
      expect(answered.some(isDryRun)).toBe(true);
    }
    expect(found(textsOf(told.filter(({ path }) => corrections.includes(path))))).toEqual([]);
    const statuses = statusesOf(told.filter(({ path }) => path === '/balance'));
    expect(statuses).toContain(403);
    expect(statuses).not.toContain(200);
  });

  it('an answer to an entered allocation, not even an arm, except one that the request named', () => {
    const all = about('/forced_allocations');
    const told = all.filter(({ name }) => name === 'enterer');
    const recorded = told.filter(isRecorded);
    expect(recorded.length).toBeGreaterThan(2);
    expect(recorded.every(({ answer }) => answer.results.length === 0)).toBe(true);
    expect(told.some(isDryRun)).toBe(true);
    expect([...statusesOf(told)]).toEqual(expect.arrayContaining([200, 400, 422, 503]));
    expect(found(textsOf(told), ['ZZTREATB'])).toEqual(['ZZTREATB']);
    expect(found(textsOf(told).map(withoutNamed))).toEqual([]);
    const refused = all.filter(({ name }) => name !== 'enterer');
    expect([...found(textsOf(refused)), ...found(textsOf(refused), ['ZZGROUNDS'])]).toEqual([]);
    expect(statusesOf(refused)).not.toContain(200);
  });

  it('the design or the answer to an amendment, except for arms as those of the study', () => {
    const told = about('/study_design', '/amendments');
    const without = textsOf(told).map((text) => text.replaceAll(/"(closed_)?treatments":\[[^\]]*\]/g, ''));
    expect(found(without)).toEqual([]);
    const made = about('/amendments').filter(({ answer }) => answer.status === 200);
    expect(namesOf(made)).toEqual(new Set(['manager']));
    expect(made.filter(isRecorded).length).toBeGreaterThan(2);
    expect(made.some(isDryRun)).toBe(true);
  });
});

it('no key without audit is shown a slot, or anything else of a draw', () => {
  const told = textsOf(answers.filter(({ name }) => name !== 'auditor'));
  expect(found([...told, ...logs], SLOTS)).toEqual([]);
  const sealed = log.map((stored) => stored.sealed);
  expect(found(sealed, SLOTS)).toEqual(SLOTS);
});

it('no key without read or audit is shown why a code was broken, or what was wrong', () => {
  const grounds = (...names: readonly Name[]) => found(textsOf(toldTo(...names)), ['ZZGROUNDS']);
  expect(grounds('writer', 'blinded', 'breaker', 'manager', 'leaver', 'corrector')).toEqual([]);
  expect(grounds('reader')).toEqual(['ZZGROUNDS']);
  expect(found([...logs, ...inTheOpen], ['ZZGROUNDS'])).toEqual([]);
});

describe('which treatment a pack holds', () => {
  const free = () => {
    const given = log.flatMap(({ record }) => [record.data.code, record.data.by]);
    return CODES.filter((code) => !given.includes(code) && !namedCodes.has(code));
  };
  /** As a whole word: ZZPACK-1 is not ZZPACK-10. */
  const shown = (texts: readonly string[], codes: readonly string[]) => {
    const all = new Set(texts.flatMap((text) => text.match(/ZZPACK-\d+/g) ?? []));
    return codes.filter((code) => all.has(code));
  };

  it('is shown only to the key supplier, in one place, and no other list but one has a pack that nobody has', () => {
    const told = (list: string) => textsOf(toldTo('supplier').filter(({ path }) => path === list));
    const isList = (path: string) => ['/codes', '/pack_accountability'].includes(path);
    const elsewhere = answers.filter(({ name, path }) => name !== 'supplier' || !isList(path));
    expect(free().length).toBeGreaterThan(20);
    expect(shown(told('/codes'), free())).toEqual(free());
    expect(shown(told('/pack_accountability'), free())).toEqual(free());
    expect(shown(textsOf(elsewhere), free())).toEqual([]);
    const ofSupplier = toldTo('supplier').filter(({ path }) => !NAMING_ARMS.has(path));
    const others = ofSupplier.filter(({ path }) => path !== '/codes');
    expect(found(textsOf(others))).toEqual([]);
    expect(found(textsOf(ofSupplier), ['ZZTREATA', 'ZZTREATB'])).toHaveLength(2);
    const gotMap = answers.filter(({ path, answer }) => isList(path) && answer.status === 200);
    expect(namesOf(gotMap)).toEqual(new Set(['supplier']));
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
    const told = about('/code_replacements');
    expect(found(textsOf(told))).toEqual([]);
    expect([...statusesOf(told)]).toEqual(expect.arrayContaining([200, 403, 404, 422]));
  });

  it('is in no answer about a visit, whoever asks, and those who may are given packs and corrections', () => {
    for (const [path, names] of [
      ['/dispensations', ['reader', 'writer', 'leaver', 'blinded', 'corrector']],
      ['/dispensation_corrections', ['corrector']],
    ] as const) {
      const told = about(path);
      const given = told.filter(({ answer }) => answer.status === 200 && answer.results.code !== undefined);
      expect(namesOf(given), path).toEqual(new Set(names));
      expect(found(textsOf(told), ['ZZTREAT', NOTE]), path).toEqual([]);
    }
  });

  it('is not in the clear, nor which packs are withdrawn', () => {
    const ofPacks = log.filter(({ record }) => record.type.startsWith('Code'));
    const types = new Set(ofPacks.map(({ record }) => record.type));
    expect(types).toEqual(new Set(['CodesRegistered', 'CodeReplaced', 'CodesWithdrawn']));
    const clear = log.map(({ record }) => JSON.stringify(record));
    expect(shown(clear, free())).toEqual([]);
    expect(found(clear, ['ZZGROUNDS'])).toEqual([]);
  });

  it.each(['open', 'blinded'])('is in no bundle with content %s', async (content) => {
    const file = join(folder, `${content}.zip`);
    await commandOk(['bundle', '--study', 'Packed', '--content', content, '--out', file, '--data', data]);
    // The verifier names the members of every event.
    const texts = (await filesIn(file))
      .filter(({ path }) => path !== 'verify_bundle.py')
      .map(({ bytes }) => bytes.toString());
    expect(texts.join('')).toContain('"CodesRegistered"');
    expect(shown(texts, free())).toEqual([]);
    const keysOfLists = log
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
    const texts = (records: typeof log) => records.map(({ record }) => JSON.stringify(record));
    const ofDesign = ['StudyRegistered', 'StudyAmended'];
    const designs = log.filter(({ record }) => ofDesign.includes(record.type));
    const others = log.filter(({ record }) => !ofDesign.includes(record.type));
    expect(designs.some(({ record }) => record.type === 'StudyAmended')).toBe(true);
    expect([...found(texts(others)), ...found(texts(others), ['ZZGROUNDS'])]).toEqual([]);
    expect(others.map(({ record }) => record.type)).toEqual(
      expect.arrayContaining([
        ...['AllocationRevealed', 'LevelsCorrected', 'AllocationVoided', 'AllocationReinstated'],
        ...['ParticipantIdCorrected', 'AllocationForced'],
      ]),
    );
    expect(others.filter(({ record }) => record.data.what === 'export')).toHaveLength(1);
    expect(found(texts(designs)).filter((secret) => !isArm(secret))).toEqual([]);
  });
});
