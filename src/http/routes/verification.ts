/** GET /verification: the report of a verification of the study, with `log` and `access`, by the service itself. */
import type { Request } from 'express';
import { decodeBase64 } from '../../ledger/base64.ts';
import { parseOrigin } from '../../ledger/checkpoint.ts';
import { keptCheckpoint } from '../../ledger/checkpoint-file.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import type { Query } from '../request/query.ts';
import { SUCCESS } from '../request/reply.ts';
import { keyHandler, requireScope, type StudyRoutes, studyNameFor } from '../request/study-request.ts';
import { verificationJson } from './verification-result.ts';

const PARAMETERS = new Set(['api_key', 'study', 'checkpoint']);

export function getVerification(routes: StudyRoutes) {
  return keyHandler(routes, async ({ http, query, accepted: { key } }, locals) => {
    // A study whose records cannot all be read is the one that most needs it.
    const { name, stream } = studyNameFor(routes, key, query.get('study'));
    locals.study = stream.slice('study-'.length);
    locals.studyName = name;
    requireScope(key, ['audit']);
    const problems = unknownParameters(query, PARAMETERS, 'verification');
    const checkpoint = checkpointOf(query, { logName: routes.logName, stream }, problems);
    refuseProblems(problems);
    if (key.where)
      throw new HttpProblem(403, 'This API key is limited to some levels, and a verification is of all');
    const report = await whileAsked(http, (asker) =>
      routes.verifications.run({ study: name, checkpoint }, asker),
    );
    const records = report.streams.find((one) => one.stream === stream)?.records ?? 0;
    const results = verificationJson(report, { stream, isLimited: key.studies !== undefined });
    return {
      status: 200,
      message: SUCCESS,
      results,
      revision: records - 1,
      discloses: { what: 'verification', ...(records > 0 && { toRevision: records - 1 }) },
    };
  });
}

/** The note that is given, as in `Urn-Receipt`. What is wrong with it is added to the problems. */
function checkpointOf(
  query: Query,
  { logName, stream }: { readonly logName: string; readonly stream: string },
  problems: string[],
): string | undefined {
  const given = query.get('checkpoint');
  if (given === undefined) return undefined;
  const bytes = decodeBase64(given);
  if (bytes === undefined || given === '') {
    const hint = given.includes(' ') ? ' (encode each + as %2B)' : '';
    problems.push(`checkpoint is not the base64 of a signed note, as in Urn-Receipt${hint}`);
    return undefined;
  }
  const note = bytes.toString('utf8');
  const kept = keptCheckpoint(note, 'checkpoint');
  if ('why' in kept) {
    problems.push(`checkpoint is no signed note of a checkpoint: ${kept.why}`);
    return undefined;
  }
  // Of another stream of this log it would be left out, and look as if it had been compared.
  const of = parseOrigin(logName, kept.claims.origin)?.stream;
  if (of !== undefined && ![stream, 'log', 'access'].includes(of))
    problems.push(`checkpoint is of another stream than this study's, which is ${stream}`);
  return note;
}

/** @param answer gets what is aborted when the client has gone */
async function whileAsked<T>({ socket }: Request, answer: (asker: AbortSignal) => Promise<T>): Promise<T> {
  const asker = new AbortController();
  const gone = () => asker.abort();
  if (socket.destroyed) gone();
  socket.once('close', gone);
  try {
    return await answer(asker.signal);
  } finally {
    socket.off('close', gone);
  }
}
