import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../src/cli/grounds.ts';
import { participantProblem } from '../../../src/http/request/participant-command.ts';
import type { StudyOutcome } from '../../../src/study/commands.ts';

const REFUSED: StudyOutcome = { type: 'refused', because: 'importing' };

describe('a correction while a history is imported', () => {
  it('is refused in words on the command line', () => {
    expect(refusalOf(REFUSED, { study: 'Sleep', id: '001' })?.message).toBe(
      'a history is being imported into Sleep, and until it is complete nobody can be corrected, and no pack registered, withdrawn or replaced',
    );
  });

  it('gets a 409 over HTTP, and the refusal is recorded with its reason', () => {
    expect(participantProblem(REFUSED, 7)).toEqual({
      status: 409,
      message: 'A history is being imported into the study, and nobody is corrected until it is in',
      results: '[]',
      revision: 7,
      refused: 'importing',
    });
  });
});
