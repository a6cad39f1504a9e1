/** The file of pending code-breaks, used by several processes at once. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PENDING_REVEALS, PendingReveals } from '../../../src/service/code-break/pending-reveals.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const disk = newFolder();
const why = mountSmallDisk(disk);
const line = (i: number) => ({
  ...{ study: 'S', participantId: `p${i}`, randomizedAt: i, category: 'emergency' as const },
  ...{ reason: `line\nfeed ${i}`, reveal: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}` },
  ...{ shownAt: '2026-03-01T09:00:00.000Z', actor: { cli: true as const, user: 'night' } },
});

it('a line is on the disk for its owner only, and gone when it is recorded', async () => {
  const file = join(newFolder(), 'data', PENDING_REVEALS);
  const pending = new PendingReveals(file);
  expect(await pending.list()).toEqual({ reveals: [], damaged: 0 });
  await pending.add(line(1));
  await pending.add(line(2));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await pending.list()).toEqual({ reveals: [line(1), line(2)], damaged: 0 });
  await pending.remove(new Set([line(1).reveal]));
  expect(await pending.list()).toEqual({ reveals: [line(2)], damaged: 0 });
  await pending.remove(new Set([line(2).reveal]));
  expect(existsSync(file)).toBe(false);
});

it('half a line of this process does not count, and goes with the next line that is recorded', async (test) => {
  if (why !== undefined) test.skip(`mount is refused here: ${why}`);
  const file = join(disk, PENDING_REVEALS);
  const pending = new PendingReveals(file);
  await pending.add(line(1));
  const { blocks, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'ballast'), Buffer.alloc((blocks - 1) * bsize));
  const long = { ...line(2), reason: 'x'.repeat(5000) };
  await expect(pending.add(long)).rejects.toThrow('no room for a whole line');
  expect(await pending.list()).toEqual({ reveals: [line(1)], damaged: 0 });
  rmSync(join(disk, 'ballast'));
  await pending.add(long);
  expect(await pending.list()).toEqual({ reveals: [line(1), long], damaged: 0 });
  await pending.remove(new Set([line(1).reveal, long.reveal]));
  expect(existsSync(file)).toBe(false);
});

it('half a line, and one with another category than emergency, are kept and do not affect the others', async () => {
  const file = join(newFolder(), PENDING_REVEALS);
  const pending = new PendingReveals(file);
  const planned = JSON.stringify({ ...line(1), category: 'planned' });
  const kept = `\n${planned}\n\n{"study":"S","partici`;
  await pending.add(line(1));
  appendFileSync(file, kept);
  await pending.add(line(2));
  expect(await pending.list()).toEqual({ reveals: [line(1), line(2)], damaged: 2 });
  await pending.remove(new Set([line(1).reveal, line(2).reveal]));
  expect(await pending.list()).toEqual({ reveals: [], damaged: 2 });
  const left = readFileSync(file, 'utf8');
  for (const text of [planned, '{"study":"S","partici']) expect(left).toContain(text);
});

it('no line is lost if removing some is interrupted', async () => {
  const file = join(newFolder(), PENDING_REVEALS);
  const pending = new PendingReveals(file);
  writeFileSync(`${file}.old`, `${JSON.stringify(line(1))}\n${JSON.stringify(line(2))}\n`);
  await pending.add(line(3));
  const ids = async () => (await pending.list()).reveals.map(({ participantId }) => participantId);
  expect(await ids()).toEqual(['p1', 'p2', 'p3']);
  await pending.remove(new Set([line(2).reveal]));
  expect((await ids()).sort()).toEqual(['p1', 'p3']);
  expect(existsSync(`${file}.old`)).toBe(false);
});

it('no line is lost while several processes add lines and others remove lines', async () => {
  const file = join(newFolder(), PENDING_REVEALS);
  const script = join(import.meta.dirname, '../../support/pending-process.mjs');
  const [ADDERS, EACH] = [3, 40];
  const adders = Array.from({ length: ADDERS }, (_, i) =>
    fork(script, [file, String(i * EACH), String(EACH)]),
  );
  const added = Promise.all(adders.map((child) => once(child, 'exit')));
  const pending = new PendingReveals(file);
  const taken = new Set<string>();
  const take = async () => {
    const { reveals } = await pending.list();
    const some = reveals.filter((_, i) => i % 2 === 0).map(({ reveal }) => reveal);
    for (const reveal of some) taken.add(reveal);
    await pending.remove(new Set(some));
  };
  let isOver = false;
  void added.then(() => {
    isOver = true;
  });
  while (!isOver) await Promise.all([take(), take(), take()]);
  expect((await added).map(([code]) => code)).toEqual([0, 0, 0]);
  const { reveals, damaged } = await pending.list();
  expect(damaged).toBe(0);
  expect(new Set([...taken, ...reveals.map(({ reveal }) => reveal)]).size).toBe(ADDERS * EACH);
});
