/**
 * Every act over HTTP: one row for each, and the same tests for all rows. They ask whether a request reaches the rules of the
 * act (test/unit/acts, test/unit/study) and comes back as it should. Whoever adds an act adds a row. What all bodies have in common:
 * test/integration/http/json-bodies.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../events/access.ts';
import type { ActName } from '../../../src/core/acts/acts.ts';
import type { Members } from '../../../src/core/model/outcomes.ts';
import { ACTS, type ActRow } from '../../support/act-table.ts';
import type { Answer } from '../../support/client.ts';
import { OPERATOR } from '../../support/facts.ts';
import { beginImport, IMPORT } from '../../support/import-facts.ts';
import { registerPacksIn } from '../../support/pack-lists.ts';
import { served } from '../../support/served.ts';
import type { ServiceHere } from '../../support/service-here.ts';

const OF_A_KIND = `
  mode: live
  blinding: blinded
  treatments: [ZZVERUM, ZZPLACEBO]
  factors: {sex: [Male, Female], site: [Cook, Kane, Lake]}
  visits: [V2, V3]`;
const STUDIES = `Relief:${OF_A_KIND}\nMoved:${OF_A_KIND}\n`;
const SEX = { factor: 'sex', from: 'Male', to: 'Female' };
const TARGET = { kind: 'target', value: 90 };
const APPROVALS = [{ name: 'Dr. A. Ruiz', role: 'sponsor', on: '2026-03-01' }];
const CSV = { format: 'csv', rows: 2 } as const;
const NOW = new Date().toISOString();
const WORDS = 'the words of the request';
/** Who is asked about has an id of their own for each act. */
const PARTICIPANTS = ['moved', 'void', 'voided', 'renamed', 'torn', 'visiting', 'visited', 'ill', 'told'];

type State = 'open' | 'paused' | 'closed';
type Said = readonly [status: number, message: string];

interface Row {
  readonly path: string;
  readonly event: string;
  /** Of what is no act: a key needs it, unless the study is being imported. */
  readonly scope?: Scope;
  /** The state before. Default: open. */
  readonly from?: State;
  /** A body that is possible, without the study. */
  asks(): Members;
  /** Makes it another request. */
  readonly other: Members;
  /** What a dry run says of the counts. Default: stays. */
  readonly counts?: 'moves';
  results(): unknown;
  /** What is recorded in the clear otherwise than as it is asked. */
  readonly records?: Members;
  /** The answer to the same request without an Idempotency-Key, and how many records it leaves. */
  readonly again: readonly [...Said, records: number];
  /** The answer to a key of another site. Default: there is nobody. A key with manage has no such limits. */
  readonly outside?: Said | 'no such key';
}

const EFFECTS = {
  moves: 'count differently from then on',
  stays: 'go on counting as they do',
};
/** What the answer to a request that is made again is called. */
const REFUSED = { 200: null, 400: 'duplicate', 409: 'stale', 422: 'malformed' };
const REUSED =
  'Nothing was recorded: the Idempotency-Key was used for another request (hint: use a new key for another one)';
const said = ({ status, message }: Answer): Said => [status, message];

const NOBODY: Said = [404, 'Nothing was recorded: there is no such participant'];
const SAME_AGAIN = [200, 'Success', 0] as const;
const ONCE_MORE = [200, 'Success', 1] as const;
const nothing = (why: string) => [409, `Nothing was recorded: ${why}`, 0] as const;
const recordOf = (id: string, more: object = {}) => [
  expect.objectContaining({ id, trt: armOf.get(id), ...more }),
];

const ON_PARTICIPANTS: readonly Row[] = [
  {
    ...{ path: '/level_corrections', event: 'LevelsCorrected' },
    asks: () => ({ id: 'moved', changes: [SEX], cause: 'entry', note: WORDS }),
    other: { note: 'another' },
    counts: 'moves',
    results: () => recordOf('moved', { f_sex: 'Female' }),
    again: nothing('sex is "Female" now'),
  },
  {
    ...{ path: '/voids', event: 'AllocationVoided' },
    asks: () => ({ id: 'void', cause: 'duplicate', duplicate_of: 'moved', analysis: 'exclude', note: WORDS }),
    other: { analysis: 'keep' },
    results: () => recordOf('void', { 'urn.voided': 'duplicate' }),
    records: { duplicateOf: 'moved' },
    again: [409, expect.stringMatching(/the participant is voided already \(duplicate, revision \d+\)$/), 0],
  },
  {
    ...{ path: '/reinstatements', event: 'AllocationReinstated' },
    asks: () => ({ id: 'voided', note: WORDS }),
    other: { note: 'another' },
    results: () => [expect.not.objectContaining({ 'urn.voided': expect.anything() })],
    again: nothing('the participant is not voided'),
  },
  {
    ...{ path: '/id_corrections', event: 'ParticipantIdCorrected' },
    asks: () => ({ id: 'renamed', to: 'right', cause: 'entry' }),
    other: { cause: 'other' },
    results: () => [expect.objectContaining({ id: 'right', 'urn.id_as_randomized': 'renamed' })],
    again: nothing('the participant has this id already'),
  },
  {
    ...{ path: '/code_replacements', event: 'CodeReplaced' },
    asks: () => ({ id: 'torn', code: packOf.get('torn'), cause: 'damaged' }),
    other: { cause: 'lost' },
    results: () => ({ code: packOf.get('torn'), by: anotherFor('torn') }),
    again: [409, expect.stringMatching(/^Nothing was recorded: the participant has the pack C-\d+ now$/), 0],
  },
  {
    ...{ path: '/dispensations', event: 'PackDispensed' },
    asks: () => ({ id: 'visiting', visit: 'v2' }),
    other: { visit: 'V3' },
    results: () => ({ visit: 'V2', code: anotherFor('visiting') }),
    records: { visit: 'V2' },
    again: [400, 'Nothing was recorded: visiting has a pack for V2 already', 0],
  },
  {
    ...{ path: '/dispensation_corrections', event: 'DispensationCorrected' },
    asks: () => ({ id: 'visited', code: dispensed, to: 'v3', cause: 'entry', note: WORDS }),
    other: { to: null },
    results: () => ({ code: dispensed, from: 'V2', to: 'V3' }),
    records: { from: 'V2', to: 'V3' },
    again: nothing('the pack is for V3 already'),
  },
  {
    ...{ path: '/code_breaks', event: 'AllocationRevealed' },
    asks: () => ({ id: 'ill', category: 'emergency', reason: WORDS, requested_by: 'Dr. K.' }),
    other: { category: 'planned' },
    results: () => recordOf('ill'),
    records: { reveal: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    again: ONCE_MORE,
  },
  {
    ...{ path: '/unblindings', event: 'UnblindingReported' },
    asks: () => ({ id: 'told', occurred_at: NOW, how: 'label', inadvertent: true, reason: WORDS }),
    other: { how: 'envelope' },
    results: () => recordOf('told'),
    again: ONCE_MORE,
  },
];

const OF_STUDIES: readonly Row[] = [
  {
    ...{ path: '/code_withdrawals', event: 'CodesWithdrawn' },
    asks: () => ({ codes: ['L-1'], reason: WORDS }),
    other: { codes: ['L-2'] },
    results: () => ({ withdrawn: 1 }),
    again: [422, 'codes: no free pack has the code L-1', 0],
    outside: [422, 'codes: no free pack has the code L-1'],
  },
  {
    ...{ path: '/forced_allocations', event: 'AllocationForced', scope: 'force' },
    asks: () => ({
      ...{ id: 'forced', levels: { sex: 'Male', site: 'Cook' }, treatment: 'ZZVERUM', occurred_at: forcedAt },
      ...{ cause: 'outage', code: null, note: WORDS },
    }),
    other: { cause: 'elsewhere' },
    counts: 'moves',
    results: () => [expect.objectContaining({ id: 'forced', trt: 'ZZVERUM', 'urn.occurred_at': forcedAt })],
    records: { counted: true, levels: [{ factor: 'sex', level: 'Male' }, { level: 'Cook' }] },
    again: [422, 'id: a participant has, or had, this id', 0],
    outside: [403, 'Nothing was recorded: this API key is limited to site = "Kane"'],
  },
  {
    ...{ path: '/amendments', event: 'StudyAmended', scope: 'manage' },
    asks: () => ({ amendment: 1, changes: [TARGET], reason: WORDS, approvals: APPROVALS }),
    other: { reason: 'another' },
    results: () => ({ amendment: 1, design: expect.objectContaining({ amendment: 1, target: 90 }) }),
    again: nothing('the next amendment is number 2'),
    outside: 'no such key',
  },
  ...(
    [
      ['pause', 'StudyPaused', 'open', {}, 'paused'],
      ['resume', 'StudyResumed', 'paused', {}, 'open'],
      ['close', 'StudyClosed', 'open', { cause: 'target' }, 'closed'],
      ['reopen', 'StudyReopened', 'closed', { approvals: APPROVALS }, 'open'],
    ] as const
  ).map(
    ([action, event, from, more, state]): Row => ({
      ...{ path: '/study_state', event, from },
      asks: () => ({ action, reason: WORDS, ...more }),
      other: { reason: 'another' },
      results: () => ({ state }),
      again: SAME_AGAIN,
      outside: 'no such key',
    }),
  ),
];
const ROWS = [...ON_PARTICIPANTS, ...OF_STUDIES];
const actRow = ({ event }: Row): ActRow | undefined => ACTS[event as ActName];
const scopesOf = (row: Row) => actRow(row)?.scopes ?? [row.scope as Scope];
const NAMED = ROWS.map((row) => [row.event, row] as const);

const ARMS = ['ZZVERUM', 'ZZPLACEBO'];
const PACKS = Array.from({ length: 40 }, (_, n) => ({ code: `C-${n}`, treatment: ARMS[n % 2] ?? '' }));
const armOf = new Map<string, string>();
const packOf = new Map<string, string>();
let dispensed: string;
let forcedAt: string;
/** A pack that the participant could get. */
const anotherFor = (id: string) =>
  expect.toSatisfy((code) => {
    const pack = PACKS.find((one) => one.code === code);
    return pack?.treatment === armOf.get(id) && code !== packOf.get(id);
  });

/** What each route has answered with so far. */
const answered = new Map<string, Set<number>>();

/** @param as the name of a key; one that there is not: none */
async function post(path: string, body: Members, as = 'office', headers = {}): Promise<Answer> {
  const answer = await http.post(as, path, { study: 'Relief', ...body }, headers);
  answered.set(path, (answered.get(path) ?? new Set()).add(answer.status));
  return answer;
}
const send = ({ path, asks }: Row, more: Members = {}, as?: string, headers = {}) =>
  post(path, { ...asks(), ...more }, as, headers);
const dry = (row: Row, more: Members = {}, as?: string) => send(row, { ...more, dry_run: true }, as);
const emptyOf = (row: Row) => (Array.isArray(row.results()) ? [] : {});
const written = async () => (await http.records()).filter(({ stream }) => stream.startsWith('study-'));
const rowOf = (event: string) => ROWS.find((row) => row.event === event) as Row;

/** Brings the study from open, paused or closed into another of these states. */
async function become(state: State): Promise<void> {
  const { state: now } = (await http.get('office', '/study_design', { study: 'Relief' })).results;
  const toOpen = { open: undefined, paused: 'StudyResumed', closed: 'StudyReopened' }[now as 'open'];
  const fromOpen = { paused: 'StudyPaused', closed: 'StudyClosed' }[state as 'paused'];
  if (now === state) return;
  for (const event of [toOpen, fromOpen])
    if (event !== undefined) expect((await send(rowOf(event))).status, event).toBe(200);
}

/** A study into which a history is being imported, with a participant. */
async function importOne({ log: { studies } }: ServiceHere): Promise<void> {
  const stream = studies.streamOf('Moved');
  const row = { type: 'import-participant', import: IMPORT, row: 1, participantId: 'i1' } as const;
  const original = { datetime: '2026-01-01 00:00:00', user: 'other' };
  const imported = { ...row, levels: ['Male', 'Cook'], treatment: 'ZZVERUM', original };
  await studies.submit(
    stream,
    beginImport([imported, imported], { source: CSV, seedKnown: false }, 0),
    OPERATOR,
  );
  expect((await studies.submit(stream, imported, OPERATOR)).outcome.type).toBe('imported');
}

const ofScope = (scope: Scope, ...more: string[]) => [scope, '--scope', scope, ...more];
const LIMITED = Scope.options.filter((scope) => scope !== 'audit' && scope !== 'manage');
const GRANTS: Readonly<Record<string, string[]>> = {
  office: ['office', '--scope', 'read,correct,force,manage,supply,unblind'],
  nurse: ['nurse', '--scope', 'randomize,read'],
  ...Object.fromEntries(Scope.options.map((scope) => [scope, ofScope(scope)])),
  ...Object.fromEntries(LIMITED.map((scope) => [`${scope} of Kane`, ofScope(scope, '--where', 'site=Kane')])),
};
const http = served(STUDIES, GRANTS, { filled });

async function filled(): Promise<void> {
  const at = (level: string, entries: typeof PACKS) => ({ where: { factor: 'site', level }, entries });
  const ofLake = ['L-1', 'L-2'].map((code, n) => ({ code, treatment: ARMS[n] ?? '' }));
  await registerPacksIn(http.service.log, 'Relief', [at('Cook', PACKS), at('Lake', ofLake)]);
  const { randomize } = http.as('nurse');
  for (const id of PARTICIPANTS) {
    const { results } = await randomize('Relief', id, { sex: 'Male', site: 'Cook' });
    armOf.set(id, results[0].trt);
    packOf.set(id, results[0]['urn.code']);
  }
  dispensed = (await send(rowOf('PackDispensed'), { id: 'visited' })).results.code;
  await send(rowOf('AllocationVoided'), { id: 'voided' });
  forcedAt = new Date().toISOString();
  await importOne(http.service);
}

async function documented() {
  // biome-ignore lint/suspicious/noExplicitAny: the document is checked elsewhere.
  const document: any = await (await fetch(`${http.url}/openapi.json`)).json();
  return document.paths as Record<string, typeof document>;
}

it('each route of an act, and each action of one, has a row', async () => {
  const routes = Object.entries(await documented()).flatMap(
    ([path, { post: { parameters = [], requestBody } = {} }]) => {
      if (!requestBody || !JSON.stringify(parameters).includes('Idempotency-Key')) return [];
      const { schema } = requestBody.content['application/json'];
      const bodies: Members[] = schema.anyOf ?? schema.oneOf ?? [schema];
      return bodies.flatMap(({ properties }) => {
        const { action } = properties as { action?: { const?: string; enum?: string[] } };
        return (action?.enum ?? [action?.const ?? '']).map((name) => `${path} ${name}`);
      });
    },
  );
  const asked = ROWS.map(({ path, asks }) => `${path} ${asks()['action'] ?? ''}`);
  expect(asked.toSorted()).toEqual(routes.toSorted());
});

describe.each(NAMED)('a request for %s', (_, row) => {
  it('is for keys of its scopes', async () => {
    const allowed: Scope[] = [];
    for (const scope of Scope.options) {
      const answer = await dry(row, {}, scope);
      if (answer.status === 200) allowed.push(scope);
      else
        expect(answer, scope).toMatchObject({
          ...{ status: 403, message: `This API key lacks the scope ${scopesOf(row).join(' or ')}` },
          results: emptyOf(row),
        });
    }
    expect(allowed.toSorted()).toEqual(scopesOf(row).toSorted());
  });

  it('needs a key, and a study', async () => {
    expect(await dry(row, {}, 'no key')).toMatchObject({ status: 401, results: emptyOf(row) });
    expect(await dry(row, { study: 'Dream' })).toMatchObject({ status: 404, results: emptyOf(row) });
  });

  it('is about what is within the limits of the key', async () => {
    const { outside = NOBODY } = row;
    if (outside === 'no such key') return;
    for (const more of [{}, { dry_run: true }])
      expect(said(await send(row, more, `${scopesOf(row)[0]} of Kane`))).toEqual(outside);
    if (outside === NOBODY) expect(said(await send(row, { id: 'nobody' }))).toEqual(NOBODY);
  });

  it('is refused in another form, with all that is wrong in it', async () => {
    const { status, message, results } = await send(row, { dry_run: 'yes', arm: 7 });
    expect([status, results]).toEqual([400, emptyOf(row)]);
    expect(message.split('; ').toSorted()).toEqual([
      'arm is not a member of this request',
      'dry_run: must be true or false',
    ]);
  });

  it('leaves nothing as a dry run, and says what would happen', async () => {
    await become(row.from ?? 'open');
    const before = await written();
    const { results, headers, message } = await dry(row);
    const { counts = 'stays' } = row;
    expect(results.effect.counts).toBe(counts);
    expect(message).toBe(
      `Nothing was recorded: this is a dry run. The request would be accepted, and the urns would ${EFFECTS[counts]}`,
    );
    expect(['urn-dry-run', 'urn-receipt'].map((name) => headers.get(name))).toEqual(['true', null]);
    for (const secret of ARMS.filter(() => row.path !== '/amendments')) expect(results).not.toContain(secret);
    expect(await written()).toEqual(before);
  });
});

it.each([
  ['closed', 'the study is closed (hint: it takes participants again once it is reopened)', 'Relief'],
  ['importing', 'a history is being imported into the study (hint: wait until it is in)', 'Moved'],
] as const)('in a study that is %s, each is possible or refused', async (state, why, study) => {
  if (state === 'closed') await become(state);
  const newcomer = await http.as('nurse').randomize(study, 'new', { sex: 'Male', site: 'Cook' });
  expect([newcomer.status, newcomer.results, newcomer.message]).toEqual([
    409,
    [],
    `Nothing was recorded: ${why}`,
  ]);
  for (const row of ROWS) {
    const ofImport = state === 'importing' && ON_PARTICIPANTS.includes(row) && { id: 'i1' };
    const { status, headers, message } = await dry(row, { study, ...ofImport });
    const isRefused = (actRow(row)?.in[state] ?? (state === 'closed' ? '' : 'refused')) === 'refused';
    const expected = isRefused ? [row.event, 409, state] : [row.event, 200, null];
    expect([row.event, status, headers.get('urn-refused')]).toEqual(expected);
    if (isRefused) expect(message, row.event).toBe(`Nothing was recorded: ${why}`);
  }
});

describe.each(NAMED)('%s', (_, row) => {
  const retry = { 'Idempotency-Key': `for ${row.event}`.replaceAll(' ', '-') };
  let first: Answer;

  it('is recorded, with a receipt', async () => {
    await become(row.from ?? 'open');
    const before = (await written()).length;
    first = await send(row, {}, 'office', { ...retry, 'X-On-Behalf-Of': 'm.jones' });
    expect([...said(first), first.results]).toEqual([200, 'Success', row.results()]);
    const [stored, ...more] = (await written()).slice(before);
    expect(more).toEqual([]);
    const { type, data, revision, actor } = stored?.record ?? {};
    const { id, ...asked } = row.asks();
    const inClear = Object.entries(asked).filter(([name]) => name in data);
    const about = id === undefined ? {} : { participantId: id };
    expect(type).toBe(row.event);
    expect(data).toMatchObject({ ...about, ...Object.fromEntries(inClear), ...row.records });
    expect(actor).toMatchObject({ user: 'office', onBehalfOf: 'm.jones', keyId: expect.any(String) });
    // Only what a key with manage asks for has its words in the clear.
    const isClear = row.outside === 'no such key';
    expect(stored?.sealed.includes(WORDS)).toBe(!isClear && Object.values(asked).includes(WORDS));
    expect(JSON.stringify(stored?.record)).not.toMatch(isClear ? /ZZ/ : /ZZ|words/);
    expect(first.headers.get('urn-revision')).toBe(String(revision));
    const receipt = Buffer.from(first.headers.get('urn-receipt') ?? '', 'base64').toString();
    expect(Number(receipt.split('\n')[1])).toBe(revision + 1);
    expect(first.headers.get('urn-repeated')).toBeNull();
  });

  it('is answered as before to the same Idempotency-Key, which is for no other request', async () => {
    const before = await written();
    const second = await send(row, {}, 'office', retry);
    expect([...said(second), second.results]).toEqual([200, 'Success', first.results]);
    const shown = ['urn-repeated', 'urn-revision'].map((name) => second.headers.get(name));
    expect(shown).toEqual(['true', first.headers.get('urn-revision')]);
    expect(second.headers.get('urn-receipt')).not.toBeNull();
    const tried = await send(row, { dry_run: true }, 'office', retry);
    expect([tried.status, tried.headers.get('urn-repeated')]).toEqual([200, null]);
    const other = ROWS[(ROWS.indexOf(row) + 1) % ROWS.length] as Row;
    for (const answer of [
      await send(row, row.other, 'office', retry),
      await send(other, {}, 'office', retry),
    ])
      expect(said(answer)).toEqual([422, REUSED]);
    expect(await written()).toEqual(before);
  });

  it('is asked for again', async () => {
    const before = (await written()).length;
    const { status, message, headers } = await send(row);
    expect([status, message, (await written()).length - before]).toEqual(row.again);
    expect(headers.get('urn-refused')).toBe(REFUSED[status as 200]);
  });
});

it('each answer of a route is documented, and so are its scopes', async () => {
  const paths = await documented();
  for (const row of ROWS) {
    const { path } = row;
    const { description, responses, requestBody } = paths[path]?.post ?? {};
    const statuses = [...(answered.get(path) ?? [])].map(String);
    expect(Object.keys(responses), path).toEqual(expect.arrayContaining(statuses));
    for (const scope of scopesOf(row)) expect(description, path).toContain(`\`${scope}\``);
    expect(requestBody.content['application/json'].example.study, path).toBe('CHS JCOIN');
  }
});
