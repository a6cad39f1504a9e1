/** The check of the rooms (tools/rooms.mjs), on the program itself and on copies of it with something wrong. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolders } from '../support/temporary-folder.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const newFolder = temporaryFolders();

function check(folder: string) {
  const { status, stderr } = spawnSync(process.execPath, [join(PROJECT, 'tools/rooms.mjs'), folder], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

function copyOfProgram(): string {
  const folder = newFolder();
  for (const name of ['events', 'projections', 'src', 'tools'])
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  return folder;
}

it('the check of rooms accepts the program as it is', () => {
  expect(check(PROJECT)).toEqual({ status: 0, stderr: '' });
});

it('the check of rooms refuses an import that closes a cycle, even a dynamic one', () => {
  const folder = copyOfProgram();
  appendFileSync(join(folder, 'src/urn/draw.ts'), "import '../study/decide.ts';\n");
  appendFileSync(
    join(folder, 'src/study/state.ts'),
    "export const later = () => import('../open/open-log.ts');\n",
  );
  expect(check(folder)).toEqual({
    status: 1,
    stderr:
      'rooms: src/study/state.ts imports src/open/open-log.ts, but src/open is not on a floor below src/study\n' +
      'rooms: src/urn/draw.ts imports src/study/decide.ts, but src/study is not on a floor below src/urn\n',
  });
});

it('the check of rooms allows type imports from a higher room', () => {
  const folder = copyOfProgram();
  appendFileSync(join(folder, 'src/urn/draw.ts'), "import type { State } from '../study/state.ts';\n");
  appendFileSync(join(folder, 'src/urn/draw.ts'), "export type { State } from '../study/state.ts';\n");
  expect(check(folder)).toEqual({ status: 0, stderr: '' });
});

it('the check of rooms refuses a room on no floor, and a floor whose room is gone', () => {
  const folder = copyOfProgram();
  mkdirSync(join(folder, 'src/attic'));
  writeFileSync(join(folder, 'src/attic/box.ts'), 'export {};\n');
  const rules = join(folder, 'tools/rooms.json');
  writeFileSync(rules, JSON.stringify({ roots: ['src/attic'], floors: [['src/cellar']] }));
  const { status, stderr } = check(folder);
  expect(status).toBe(1);
  expect(stderr).toContain('src/attic is on no floor');
  expect(stderr).toContain('src/cellar is on a floor of tools/rooms.json, but has no files');
});
