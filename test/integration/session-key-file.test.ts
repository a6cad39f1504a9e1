/** The session key in its file. What running services do with it: test/e2e/http/sessions.test.ts. */
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { replaceSessionKey, sessionKeyInFile } from '../../src/service/session/session-key.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();
const noProblem = (error: Error) => {
  throw error;
};
afterEach(() => vi.restoreAllMocks());
const NOW = new Date('2026-11-23T08:00:00.000Z');

describe('the session key', () => {
  it('is made once, and only its owner can read it', () => {
    const folder = join(newFolder(), 'data');
    const file = join(folder, 'session-key');
    const made = sessionKeyInFile(file, noProblem)();
    expect(made.current).toHaveLength(32);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['session-key']);
    expect(sessionKeyInFile(file, noProblem)()).toEqual(made);
    expect(sessionKeyInFile(join(newFolder(), 'other'), noProblem)()).not.toEqual(made);
  });

  it('is replaced by a new one, which names the one before it; the first is made', () => {
    const file = join(newFolder(), 'session-key');
    const replaced = (keepsSessions = true) => {
      replaceSessionKey(file, keepsSessions, NOW);
      return sessionKeyInFile(file, noProblem)();
    };
    const first = replaced();
    expect(first.previous).toBeUndefined();
    const second = replaced();
    expect(second.current).not.toEqual(first.current);
    expect(second.previous).toEqual({ key: first.current, replacedAt: NOW.getTime() });
    expect(replaced().previous?.key).toEqual(second.current);
    expect(replaced(false).previous).toBeUndefined();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file))).toEqual(['session-key']);
  });

  it('stays in use by those who have read it, whatever becomes of the file', () => {
    let ms = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => ms);
    const file = join(newFolder(), 'session-key');
    const problems: string[] = [];
    const secret = sessionKeyInFile(file, ({ message }) => problems.push(message));
    const kept = secret();
    for (const change of [() => writeFileSync(file, 'nonsense'), () => rmSync(file)]) {
      change();
      ms += 999;
      expect(secret()).toEqual(kept);
      ms += 1;
      for (let i = 0; i < 2; i++) expect(secret()).toEqual(kept);
    }
    expect(problems).toEqual([expect.stringContaining('holds no session key'), expect.any(String)]);
    replaceSessionKey(file, true, NOW);
    ms += 1000;
    expect(secret()).not.toEqual(kept);
  });

  it.each([0o604, 0o602, 0o666])('is refused with mode %o', (mode) => {
    const file = join(newFolder(), 'session-key');
    sessionKeyInFile(file, noProblem);
    chmodSync(file, mode);
    expect(() => sessionKeyInFile(file, noProblem)).toThrow('may use the session key');
  });

  it('is not replaced if the file holds something else', () => {
    const file = join(newFolder(), 'session-key');
    writeFileSync(file, 'precious\n', { mode: 0o600 });
    expect(() => replaceSessionKey(file, true, NOW)).toThrow('holds no session key');
    expect(readFileSync(file, 'utf8')).toBe('precious\n');
    expect(() => sessionKeyInFile(file, noProblem)).toThrow('holds no session key');
  });
});
