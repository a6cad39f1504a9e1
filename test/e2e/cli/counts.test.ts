/** What happened in a study is the same number wherever it is shown. How the pages show it: test/e2e/pages/study.test.ts. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { unblindedIn } from '../../../src/web/study/unblinded.ts';
import { asCommand, type Written } from '../../support/acts.ts';
import { ARMS, commandsOn, enrol, FOUR, registered, SLEEP, typed } from '../../support/cli-log.ts';
import { commandOk } from '../../support/command.ts';
import { CONFIGURATION, OPERATOR, SEED } from '../../support/facts.ts';
import { filesIn } from '../../support/files-in.ts';
import { beginImport, drawnRows, IMPORT } from '../../support/import-facts.ts';
import { requiredPython } from '../../support/numpy.ts';
import { served } from '../../support/served.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { runVerifier } from '../../support/verifier.ts';

const python = requiredPython();
const newFolder = temporaryFolders();
const fileOf = temporaryFiles('packs.csv');
const data = newFolder();
const { ok, json } = commandsOn(data);
const by = commandsOn(data, '--study', 'Sleep').ok;

beforeAll(async () => {
  await registered(data, [{ ...SLEEP, visits: ['V2', 'V3'] }]);
  const rows = Array.from({ length: 12 }, (_, i) => `P${10 + i},${ARMS[i % 2]}`);
  await by`codes add --yes --from ${fileOf(['code,treatment', ...rows].join('\n'))}`;
  await enrol(data, 'Sleep', FOUR);
  const entry = typed`--id 005 --level sex=Male --level sex=2=North --note 'envelope 12' --no-code`;
  await by`participants force ${entry} --occurred-at NOW --treatment ZZARM-B --cause elsewhere`;
  const because = typed`--reason 'a reason'`;
  // Two code-breaks and a report are of one person; the code-break of a wrong entry is of the person who was entered again.
  for (const line of [
    typed`001 --category emergency`,
    typed`001 --category planned`,
    typed`005 --category other`,
  ])
    await by`reveal --id ${line} ${because}`;
  for (const id of ['001', '003'])
    await by`unblindings add --id ${id} --how label --occurred-at NOW ${because}`;
  await by`participants void --id 005 --cause entry --analysis exclude --note 'the other arm'`;
  await by`participants force ${entry} --occurred-at NOW --treatment ZZARM-A --cause outage --replaces 6`;
  await by`participants correct --id 002 --level sex=Male --cause entry --note 'source record'`;
  const [first = ''] = await packs();
  await by`codes replace --id 001 --code ${first} --cause damaged`;
  await by`participants dispense --id 002 --visit V2`;
  const [, free = ''] = await packs();
  await by`reveal --code ${free} --category other ${because}`;
  await by`codes withdraw --code ${free} ${because}`;
  await ok`studies close Sleep --cause end ${because}`;
  await by`participants rename --id 003 --to 030 --cause entry`;
  await by`participants void --id 004 --cause duplicate --duplicate-of 002 --analysis exclude --note twice`;
});

/** The code of a pack that participant 001 has, and of one that nobody has. */
async function packs(): Promise<readonly string[]> {
  const listed: { code: string; state: string; id?: string }[] = (await json`codes list --study Sleep --json`)
    .packs;
  const found = [listed.find(({ id }) => id === '001'), listed.find(({ state }) => state === 'free')];
  return found.map((pack) => pack?.code ?? '');
}

const lifeIn = (streams: readonly { study?: string; life?: object }[]) =>
  streams.find(({ study }) => study === 'Sleep')?.life;

const UNBLINDED = {
  ...{ revealed: { emergency: 1, planned: 1, other: 2 }, unblindingReported: 2, peopleUnblinded: 3 },
};
const PACKS = { registered: 12, replaced: 1, withdrawn: 1, dispensed: 1, corrected: 0 };

it('for machines: urn verify, urn studies show and the list of participants', async () => {
  const { streams } = await json`verify --study Sleep --json`;
  expect(lifeIn(streams)).toEqual({
    ...UNBLINDED,
    ...{ state: 'closed', forced: { elsewhere: 1, outage: 1 }, packs: PACKS, corrected: 1, idsCorrected: 1 },
    voided: { duplicate: 1 },
    changedAfterClosing: { ParticipantIdCorrected: 1, AllocationVoided: 1 },
  });
  expect(await json`studies show Sleep --json`).toMatchObject({
    ...{ ...UNBLINDED, packs: { ...PACKS, given: 6 }, voided: { duplicate: 1 } },
  });
  const listed: { revealed: boolean }[] = await json`participants list --study Sleep --json`;
  expect(listed.filter(({ revealed }) => revealed)).toHaveLength(UNBLINDED.peopleUnblinded);
});

it('for people: urn verify and urn studies show', async () => {
  expect(await ok`verify`).toContain(
    '; code-breaks: 1 in an emergency, 3 other; 2 unblindings without the service reported; people unblinded: 3\n',
  );
  const shown = await ok`studies show Sleep`;
  expect(shown.replaceAll(/ {2,}/g, ': ')).toContain(
    `code-breaks: 4: 1 emergency, 1 planned, 2 other
unblinded outside: 2 reported
people unblinded: 3
packs: 12 registered, 6 given, 1 replaced, 1 withdrawn, 1 given at visits (0 corrected)
`,
  );
  expect(shown).toMatch(/^voided +1: 1 duplicate$/m);
});

describe.each(['full', 'blinded'])('of a %s bundle:', (content) => {
  let bundle: string;
  beforeAll(async () => {
    bundle = join(newFolder(), 'study.zip');
    await ok`bundle --study Sleep --content ${content} --out ${bundle}`;
  });

  it('its report', async () => {
    const files = await filesIn(bundle);
    const html = `${files.find(({ path }) => path === 'report.html')?.bytes}`;
    const rows = [...html.matchAll(/<tr><td>(.*?)<\/td>.*?<td[^>]*>([^<]*)<\/td><\/tr>/g)];
    expect(Object.fromEntries(rows.map(([, label, last]) => [label, last]))).toMatchObject({
      Packs: '12 on 1 list; replaced: 1; withdrawn: 1; given at visits: 1; corrected: 0',
      'Code-breaks': '4: 1 emergency, 1 planned, 2 other; of packs that nobody had: 1',
      ...{ 'Unblinded outside': '2 reported', 'People unblinded': '3' },
      ...{ 'Of these unblinded': '3', 'Of these voided': '1', '– duplicate': '1' },
    });
  });

  it.skipIf(python === undefined)('both verifiers', async () => {
    const { streams } = JSON.parse(await commandOk(['verify', '--bundle', bundle, '--json']));
    expect(lifeIn(streams)).toMatchObject({ ...UNBLINDED, packs: PACKS });
    const { stdout } = runVerifier(`${python}`, [bundle]);
    expect(stdout).toContain(
      '; code-breaks: 1 emergency, 2 other, 1 planned; unblinded without the service, as reported: 2; people unblinded: 3\n',
    );
  });
});

describe('of people who were enrolled twice', () => {
  const folder = newFolder();
  const { name: study, factors, treatments } = CONFIGURATION;
  const [levels, others] = [0, 1].map((i) => factors.map((factor) => factor.levels[i] ?? '')) as [
    string[],
    string[],
  ];
  const at = ['--study', study, '--where', `${factors[1]?.name}=${levels[1]}`];
  const keys = { all: ['all', '--scope', 'blinded'], site: ['site', '--scope', 'blinded', ...at] };
  const one = served('', keys, { data: folder, filled });

  /** An import is given up and begins again with the same people. A wrong entry is replaced, and whoever it is about renamed. */
  async function filled() {
    const { studies } = one.service.log;
    await studies.register(CONFIGURATION, SEED, OPERATOR);
    const stream = studies.streamOf(study);
    const revisions: number[] = [];
    const submit = async (...commands: readonly Written[]) => {
      for (const command of commands)
        revisions.push((await studies.submit(stream, asCommand(command), OPERATOR)).revision);
    };
    const shown = (participantId: string): Written => ({
      ...{ act: 'AllocationRevealed', participantId, category: 'emergency', reveal: randomUUID() },
      grounds: { reason: 'a reason' },
    });
    const rows = drawnRows([{}, {}]);
    const attempt = '1b6a53a2-0c9d-4e57-8f1e-2a3b4c5d6e7f';
    await submit(beginImport(rows, { import: attempt }));
    await submit(...rows.map((row) => ({ ...row, import: attempt })), shown('i1'), shown('i2'));
    await submit({ type: 'end-import', import: attempt, abortedBecause: 'the wrong file' });
    await submit(beginImport(rows), ...rows, { type: 'end-import', import: IMPORT }, shown('i2'));
    const entry = {
      type: 'force',
      user: 'nurse',
      participantId: 'f',
      cause: 'outage',
      note: 'envelope',
    } as const;
    const entered = { treatment: treatments[0] ?? '', occurredAt: new Date().toISOString() };
    await submit({ ...entry, ...entered, levels: others });
    const replaces = revisions.at(-1);
    const voided = { cause: 'entry', analysis: 'exclude', note: 'the other site' };
    await submit(shown('f'), { act: 'AllocationVoided', participantId: 'f', ...voided });
    await submit({ ...entry, ...entered, levels, replaces }, shown('f'));
    await submit({ act: 'ParticipantIdCorrected', participantId: 'f', to: 'f2', cause: 'entry' });
    await submit({ act: 'ParticipantIdCorrected', participantId: 'i1', to: 'i10', cause: 'entry' });
  }

  it('everybody counts them alike, and nobody as who came with the import that was given up', async () => {
    const { json: asked } = commandsOn(folder);
    const { streams } = await asked`verify --json`;
    expect(streams.at(-1).life).toMatchObject({ revealed: { emergency: 5 }, peopleUnblinded: 2 });
    const listed = (await one.get('all', '/code_breaks', { study })).results;
    const gone = { import_given_up: true };
    const ids = listed.map(({ id, import_given_up }: typeof gone & { id: string }) => ({
      id,
      import_given_up,
    }));
    expect(ids).toEqual([
      ...[{ id: 'i1', ...gone }, { id: 'i2', ...gone }, { id: 'i2' }],
      ...[{ id: 'f2' }, { id: 'f2' }],
    ]);
    // On the pages.
    expect([...unblindedIn(listed)]).toEqual(['i2', 'f2']);
    const atSite = (await one.get('site', '/code_breaks', { study })).results;
    expect(atSite.map(({ id }: { id: string }) => id)).toEqual(['f2', 'f2']);
    const printed: { id: string }[] = await asked`code-breaks list --study ${study} --json`;
    expect(printed.map(({ id }) => id)).toEqual(['i1', 'i2', 'i2', 'f2', 'f2']);
    const people: { id: string; revealed: boolean }[] =
      await asked`participants list --study ${study} --json`;
    expect(people.flatMap(({ id, revealed }) => (revealed ? id : []))).toEqual(['i2', 'f2']);
  });
});
