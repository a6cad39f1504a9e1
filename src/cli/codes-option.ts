/** The packs that a command is about, from its options. */
import { counted } from '../base/wording.ts';
import { MAX_ENTRIES } from '../core/model/packs.ts';
import { codeProblem, readCodes } from '../evidence/import/pack-file.ts';
import type { MembersRead } from './act-row.ts';

/**
 * @param given those of --code
 * @param from a file
 * @throws ImportError listing every problem in the file
 */
export function codesIn(given: readonly string[] | undefined, from: string | undefined): MembersRead {
  const wrong = (...problems: readonly string[]) => ({ unread: { codes: problems } });
  if (given === undefined && from === undefined)
    return wrong('say which packs: --code, or --from with a file');
  const problems = (given ?? []).flatMap((code) => {
    const why = codeProblem(code);
    return why === undefined ? [] : [`--code ${why}`];
  });
  if (problems.length > 0) return wrong(...problems);
  const codes = given ?? readCodes(from ?? '');
  return codes.length > MAX_ENTRIES
    ? wrong(`${counted(codes.length, 'pack')}: at most ${MAX_ENTRIES} at once (hint: split the file)`)
    : { members: { codes } };
}
