import { describe, expect, it } from 'vitest';
import { readRenamings } from '../../../src/cli/rename-option.ts';

const factor = (name: string, ...levels: string[]) => ({
  name,
  levels,
  closed: [],
  isRetired: false,
  earlierNames: [],
});
const DESIGN = { factors: [factor('sex', 'Male', 'Female'), factor('a:b', 'x', 'x=y', 'z')] };
const read = (texts: string[], levels: string[], hasAlias = false) =>
  readRenamings(
    texts,
    hasAlias,
    DESIGN,
    [DESIGN.factors[0], { name: 'a:b', levels }].flatMap((one) => one ?? []),
  );

describe('--rename', () => {
  it('reads the factor, the old name and the new one, whatever characters they contain', () => {
    expect(read(['a:b:x=y=new'], ['x', 'new', 'z'])).toEqual({
      renamings: [{ kind: 'level-renamed', factor: 'a:b', level: 'x=y', to: 'new' }],
      problems: [],
    });
    expect(read(['a:b:x=y=new'], ['x=y', 'y=new', 'z']).renamings).toEqual([
      { kind: 'level-renamed', factor: 'a:b', level: 'x', to: 'y=new' },
    ]);
  });

  it('allows the old names too if --alias is given', () => {
    expect(read(['a:b:z=Z'], ['x', 'x=y', 'Z'], true).renamings).toEqual([
      { kind: 'level-renamed', factor: 'a:b', level: 'z', to: 'Z', alias: true },
    ]);
    expect(read([], [], true).problems).toEqual(['--alias belongs to --rename']);
  });

  it.each([
    ['foo', 'it is not FACTOR:OLD=NEW (factors: "sex", "a:b")'],
    ['age:1=2', 'it is not FACTOR:OLD=NEW (factors: "sex", "a:b")'],
    ['sex:male=M', '"sex" has no such level (levels: "Male", "Female")'],
    ['sex:Male=M', 'the file still has the level "Male" in "sex"'],
    ['a:b:z=Z', 'the file has no level "Z" in "a:b" (hint: write the new name into the file)'],
    ['a:b:z=', 'the file has no level "" in "a:b" (hint: write the new name into the file)'],
  ])('refuses %s', (text, why) => {
    expect(read([text], ['x', 'x=y'])).toEqual({
      renamings: [],
      problems: [`--rename ${JSON.stringify(text)}: ${why}`],
    });
  });

  it('reports everything that is wrong', () => {
    expect(read(['foo', 'sex:Male=M', 'a:b:z=Z'], ['x', 'x=y', 'Z'])).toMatchObject({
      renamings: [{ to: 'Z' }],
      problems: [expect.stringContaining('foo'), expect.stringContaining('still has')],
    });
  });
});
