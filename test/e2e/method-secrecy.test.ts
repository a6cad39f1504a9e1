/**
 * Sizes of blocks, p, weights, entries of a list, and what was drawn from are searched for in everything that is said to who may
 * not know them. The numbers tell: no stream here has as many records, and nothing else is as large.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { recordMessage } from '../../src/service/relay/batch.ts';
import { describeInBrowser, openAs } from '../support/browser.ts';
import { withOpenLog } from '../support/cli-log.ts';
import { ask, clientOf } from '../support/client.ts';
import { command, commandOk } from '../support/command.ts';
import { filesIn } from '../support/files-in.ts';
import { postJson } from '../support/post-json.ts';
import { serve } from '../support/service.ts';
import { issueKeysIn, type ServiceHere, serveHere } from '../support/service-here.ts';
import { storedRecords } from '../support/stored-log.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const data = newFolder();

const STUDIES = `
Blocks:
  mode: test
  blinding: blinded
  treatments: [Left, Right]
  factors: { sex: [F, M], ward: [a, b] }
  method: { name: blocks, by: [ward], sizes: [34, 38] }

Minimized:
  mode: test
  blinding: blinded
  treatments: [Left, Right]
  factors: { sex: [F, M], ward: [a, b] }
  method: { name: minimization, p: 0.617, measure: variance, weights: { sex: 67, ward: 97 } }

List:
  mode: test
  blinding: blinded
  treatments: [Left, Right]
  factors: { sex: [F, M], ward: [a, b] }
  method: { name: list, by: [ward] }
`;
/** With other telling numbers, so that the first two studies take no participants. */
const CHANGED = STUDIES.replace('34, 38', '46, 58').replace('0.617', '0.723');
const NAMES = ['Blocks', 'Minimized', 'List'] as const;

/** The entries of ward a are near the end, and are used up. */
const ROWS = [...Array(3940).fill('b'), ...Array(5).fill('a'), ...Array(55).fill('b')];
const LIST = `treatment,ward\n${ROWS.map((ward, i) => `${i % 2 === 0 ? 'Left' : 'Right'},${ward}\n`).join('')}`;
const DIGEST = createHash('sha256').update(LIST).digest('hex');

/**
 * Sizes, places of a slot, sizes with a ratio of 2:1; thousandths of p and 1 - p; weights; those of the other file; places of the
 * entries that were used.
 */
const NUMBERS = [
  ...'34 38 17 19 51 57 617 383 0.617 0.383 67 97'.split(' '),
  ...'46 58 723 0.723'.split(' '),
  ...'3941 3942 3943 3944 3945'.split(' '),
];
const MEMBERS = [
  ...['method_parameters', 'perSlot', 'pThousandths', 'uniform53', 'bgState', 'scores'],
  ...['"sizes"', '"weights"', '"measure"', '"lot"', '"entry":{', '"entries":[', '"first":', DIGEST],
];
/** Times, what counts bytes, milliseconds or processes, and where among 1,000 replicates a study is, are whatever they are. */
const NOISE = new RegExp(
  [
    String.raw`\d{1,2} [A-Z][a-z]+ \d{4}`,
    String.raw`"(?:pid|time|ms|level|bytes|port|(?:ce_)?revision)": *"?[\d.]+"?`,
    String.raw`\d+(?:\.\d+)? ?(?:ms|MiB|seconds)\b`,
    String.raw`"percentile": *(?:\[[\d.,\s]*\]|[\d.]+)`,
    String.raw`<(?:style|svg)[\s\S]*?</(?:style|svg)>`,
  ].join('|'),
  'g',
);
/** As numbers on their own: not a part of a time, a hash or a name. */
const NUMBER = new RegExp(
  String.raw`(?<![\w.+/=-]|\d:)(?:${NUMBERS.map((text) => text.replace('.', '[.,]')).join('|')})(?![\w+/=-]|[.:]\d)`,
  'g',
);

function found(texts: readonly string[]): string[] {
  const all = texts.flatMap((text) => [
    ...(text.replaceAll(NOISE, '').match(NUMBER) ?? []),
    // Records are text within JSON.
    ...MEMBERS.filter((member) => text.replaceAll('\\"', '"').includes(member)),
  ]);
  return [...new Set(all)];
}

const GRANTS = {
  reader: ['reader', '--scope', 'read,randomize'],
  blinded: ['monitor', '--scope', 'blinded,randomize'],
  manager: ['manager', '--scope', 'blinded,manage,correct'],
  enterer: ['enterer', '--scope', 'force'],
  auditor: ['auditor', '--scope', 'read,audit'],
} as const;
type Name = keyof typeof GRANTS;
type Service = Pick<ServiceHere, 'url'>;
let keys: Record<Name, string>;

/** What GET /bundle answered, by content. */
const downloaded: Record<'blinded' | 'open', string[]> = { blinded: [], open: [] };
const said: Record<Name, string[]> = { reader: [], blinded: [], manager: [], enterer: [], auditor: [] };
const logs: string[] = [];
const metrics: string[] = [];
const statuses = new Set<number>();

/** Of one participant, too. */
const OF_ONE = ['/study_participants', '/explanation', '/participant_history'];
const PATHS = [
  ...[...OF_ONE, '/studies', '/study_config', '/study_design', '/study_form', '/enrolment', '/balance'],
  ...['/expected_balance', '/records', '/verification', '/checkpoint', '/inclusion_proof'],
  ...['/code_breaks', '/operations', '/bundle'],
];
const LEVELS = { sex: 'F', ward: 'a' };
const DRY = { 'urn.dry_run': 'true' };

/** Every kind of request with one key; what is recorded is little. */
async function everyRequest(service: Service, name: Name, study: string, id: string): Promise<void> {
  const keep = ({ text, status }: { text: string; status: number }) => {
    said[name].push(text);
    statuses.add(status);
  };
  const post = async (path: string, body: object) =>
    keep(await postJson(service.url, path, keys[name], { study, dry_run: true, ...body }));
  for (const more of [DRY, {}])
    keep(await clientOf(service.url, keys[name]).randomize(study, id, { ...LEVELS, ...more }));
  for (const path of PATHS)
    for (const more of OF_ONE.includes(path) ? [{}, { id: 'pa' }] : [{}])
      keep(await ask(service.url, path, { key: keys[name], parameters: { study, ...more } }));
  for (const change of [
    { kind: 'ratio', value: [2, 1] },
    { kind: 'urn', w: 2 },
    { kind: 'factor-retired', factor: 'ward' },
    { kind: 'level-added', factor: 'ward', level: 'c' },
  ])
    await post('/amendments', { amendment: 1, changes: [change], reason: 'x' });
  const changes = [{ factor: 'sex', from: 'F', to: 'M' }];
  await post('/level_corrections', { id: 'pa', changes, cause: 'entry', note: 'x' });
  const occurred_at = new Date().toISOString();
  await post('/forced_allocations', {
    ...{ id: 'q', levels: LEVELS, treatment: 'Left', occurred_at, cause: 'outage', note: 'x' },
  });
}

/** What GET /changes says while something happens. */
async function heard(
  { url }: Service,
  parameters: Readonly<Record<string, string>>,
  during: () => Promise<void>,
): Promise<string> {
  const stop = new AbortController();
  const { body } = await fetch(`${url}/changes?${new URLSearchParams(parameters)}`, { signal: stop.signal });
  const text: string[] = [];
  const reading = (async () => {
    for await (const chunk of body ?? []) text.push(Buffer.from(chunk).toString());
  })().catch(() => undefined);
  await during();
  stop.abort();
  await reading;
  return text.join('');
}

async function download({ url }: Service, study: string, content: 'blinded' | 'open'): Promise<void> {
  const query = new URLSearchParams({ study, content, api_key: keys.auditor });
  const response = await fetch(`${url}/bundle?${query}`);
  expect(response.status).toBe(200);
  const file = join(newFolder(), 'downloaded.zip');
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  downloaded[content].push(file);
}

/** The first time it is the program, with all that it and its libraries can say; then it is in this process. */
async function started(studies: string, use: (service: Service) => Promise<void>): Promise<void> {
  const service =
    logs.length === 0
      ? await serve({ data, studies, args: ['--log-level', 'trace'], env: { DEBUG: '*' } })
      : await serveHere(data, studies, {}, 'trace');
  try {
    await use(service);
    // Without the numbers that it counts.
    const text = await (await fetch(`${service.url}/metrics`)).text();
    metrics.push(text.replaceAll(/ \S+$/gm, ''));
  } finally {
    await service.stop();
    logs.push(...Object.values(service.output));
  }
}

beforeAll(async () => {
  keys = await withOpenLog(data, (log) => issueKeysIn(log, GRANTS));
  const file = join(newFolder(), 'list.csv');
  writeFileSync(file, LIST);
  await started(STUDIES, async (service) => {
    await commandOk(['lists', 'add', '--study', 'List', '--from', file, '--data', data]);
    const { randomize } = clientOf(service.url, keys.reader);
    const tried = () => randomize('List', 'pa', { ...LEVELS, ...DRY });
    await vi.waitFor(async () => expect((await tried()).status).toBe(200), 5000);
    for (const study of NAMES) {
      for (const id of ['pa', 'pb', 'pc']) await randomize(study, id, LEVELS);
      for (const name of Object.keys(GRANTS) as Name[]) {
        const parameters = { study, api_key: keys[name] };
        const changes = await heard(service, parameters, () =>
          everyRequest(service, name, study, `p-${name}`),
        );
        expect(changes).toMatch(/^id: /m);
        said[name].push(changes);
      }
      for (const content of ['blinded', 'open'] as const) await download(service, study, content);
    }
  });
  await started(CHANGED, async (service) => {
    for (const study of NAMES) {
      await everyRequest(service, 'blinded', study, 'pd');
      await everyRequest(service, 'reader', study, 'pe');
    }
  });
});

describe('no size, p, weight, or anything that was drawn from is in', () => {
  it('any answer to a key without audit, of whose answers the search finds all', () => {
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 403, 409, 422, 503]));
    expect(statuses).not.toContain(500);
    expect(found(said.auditor)).toEqual(
      expect.arrayContaining(['34', '38', '0.617', '67', '97', 'method_parameters', '"weights"', 'bgState']),
    );
    expect(found(said.auditor)).toEqual(expect.arrayContaining(['3941', '"entries":[', '"entry":{', DIGEST]));
    for (const name of ['reader', 'blinded', 'manager', 'enterer'] as const) {
      expect(said[name].length).toBeGreaterThan(40);
      expect(found(said[name]), name).toEqual([]);
    }
  });

  it('any line of the log, or metric', () => {
    expect(logs.join('')).toMatch(/method/);
    expect(logs.join('')).toContain('a stratum of the list has a tenth of its entries left, or fewer');
    expect(found(logs)).toEqual([]);
    expect(found(metrics)).toEqual([]);
  });

  it.each(['blinded', 'open'] as const)('a message of a feed with content %s', (content) => {
    const texts = (of: 'blinded' | 'open' | 'full') =>
      storedRecords(data).map((record) => {
        const { value, headers } = recordMessage(record, of);
        return `${value.toString()} ${JSON.stringify(headers)}`;
      });
    expect(found(texts(content))).toEqual([]);
    expect(found(texts('full'))).toEqual(
      expect.arrayContaining(['perSlot', 'pThousandths', '617', '17', '19', '3941', '"entries":[', DIGEST]),
    );
  });

  it.each(['blinded', 'open'] as const)('a bundle with content %s, or its report', async (content) => {
    const files = [...downloaded[content]];
    for (const study of NAMES) {
      const file = join(newFolder(), 'study.zip');
      await commandOk(['bundle', '--study', study, '--content', content, '--out', file, '--data', data]);
      files.push(file);
    }
    expect(files).toHaveLength(2 * NAMES.length);
    for (const file of files) {
      const texts = (await filesIn(file))
        .filter(({ path }) => path !== 'verify_bundle.py')
        .map(({ bytes }) => bytes.toString());
      expect(texts.join('')).toContain('ParticipantRandomized');
      expect(found(texts)).toEqual([]);
    }
  });

  it('what a command prints, unless it is asked for what is sealed', async () => {
    for (const study of NAMES) {
      const shown = await commandOk(['studies', 'show', study, '--data', data]);
      const listed = await commandOk(['studies', 'show', study, '--json', '--data', data]);
      const verified = await commandOk(['verify', '--study', study, '--data', data]);
      const file = join(newFolder(), 'amended.yaml');
      writeFileSync(
        file,
        STUDIES.replaceAll('[Left, Right]', '[Left, Right, Both]').replace('34, 38', '51, 57'),
      );
      const amendment = ['studies', 'amend', study, '--studies', file, '--reason', 'x', '--dry-run'];
      const tried = await commandOk([...amendment, '--data', data]);
      expect(tried).toContain('everybody now in the study stays in it');
      expect(tried.includes('by default')).toBe(study === 'Minimized');
      expect(found([shown, listed, verified, tried])).toEqual([]);
    }
    const left = await commandOk(['lists', 'status', '--study', 'List', '--data', data]);
    expect(left).toMatch(/ward=a +5 +0\n/);
    expect(found([left, await commandOk(['operations', '--data', data])])).toEqual([]);
  });
});

it('why the service refuses a studies file names no value', async () => {
  const file = join(newFolder(), 'studies.yaml');
  const wrong = STUDIES.replace('34, 38', '34, 17, 34').replace('67,', '97,').replace('0.617', '0.6171');
  writeFileSync(file, wrong.replace('variance', 'varianze'));
  const { code, stdout, stderr } = await command(['serve', '--studies', file, '--data', data]);
  expect(code).toBe(2);
  const reasons = ['a size is there twice', 'a size is not a multiple'];
  for (const why of [...reasons, 'p must be', 'measure must be', 'weights must be'])
    expect(stderr).toContain(why);
  expect(stderr).not.toContain('varianze');
  expect(found([stdout, stderr.replaceAll('0.6171', '0.617')])).toEqual([]);
});

describeInBrowser('a page that a data manager opens', () => {
  it('has none of it, nor has what it fetches', async () => {
    const service = await serveHere(data, STUDIES);
    onTestFinished(service.stop);
    const manager = await openAs(keys.manager, `${service.url}/pages/studies`);
    const texts: string[] = [];
    for (const study of NAMES)
      for (const name of ['study', 'participant', 'manage']) {
        await manager.page.goto(`${service.url}/pages/${name}#${new URLSearchParams({ study, id: 'pa' })}`);
        await manager.page.getByRole('heading', { level: 1 }).waitFor();
        await manager.page.waitForLoadState('networkidle');
        texts.push((await manager.page.locator('body').textContent()) ?? '');
      }
    for (const { body } of await manager.received()) if (body.startsWith('{')) texts.push(body);
    expect(texts.join('')).toContain('permuted blocks by Ward');
    expect(texts.join('')).toContain('a list made elsewhere, by Ward');
    expect(found(texts)).toEqual([]);
  });
});
