/** GET /changes: server-sent events that say when a study has changed, so that its page asks for the list again. */
import type { IncomingMessage } from 'node:http';
import { Scope } from '../../../../events/access.ts';
import { lastChange } from '../../../core/study/last-change.ts';
import { lastStudyWide, participantEvents } from '../../../core/study/views.ts';
import type { ChangeStreams } from '../request/change-streams.ts';
import { STUDY } from '../request/documented-parameters.ts';
import { headerValues } from '../request/headers.ts';
import { ERRORS, operation } from '../request/operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { SUCCESS } from '../request/reply.ts';
import type { Services } from '../request/services.ts';
import { type StudyRequest, stillAccepted, studyHandler } from '../request/study-request.ts';

export interface ChangeServices extends Services {
  readonly changes: ChangeStreams;
}

const PARAMETERS = new Set(['api_key', 'study']);
const SCOPES = Scope.options;

export const changesOperation = operation('Hear when a study changes', 'changes', SCOPES, {
  description: [
    'Server-sent events for `EventSource`. Each has a revision as its `id`, and no data: ask for the list again. At most one a second; a comment every 15 s. The first comes immediately, unless',
    '`Last-Event-ID` is as recent. A key that is limited to levels hears of changes to the study, and to participants within its limits. The stream ends after',
    '5 minutes, with the session, with the key, and when the service stops. It does not renew the session. A session may have 3, a key 30 in all its sessions together, and a process 200; beyond that, the status is 429.',
  ].join(' '),
  parameters: [
    STUDY,
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'The revision that is already known. `EventSource` sends it by itself',
      schema: { type: 'integer' },
    },
  ],
  content: {
    'text/event-stream': { schema: { type: 'string' }, example: 'retry: 3000\n\nid: 17\ndata:\n\n' },
  },
  empty: {},
  errors: ERRORS,
});

export function getChanges(services: ChangeServices) {
  return studyHandler(services, SCOPES, (request) => {
    const { http, response, query, accepted, session, study } = request;
    const holder = { keyId: accepted.key.keyId, sessionId: session?.sessionId };
    refuseProblems(unknownParameters(query, PARAMETERS, 'changes'));
    const latest = latestChange(services, request);
    const known = lastEventId(http);
    if (http.method !== 'HEAD') services.changes.enter(response, holder);
    const isAllowed = () => stillAccepted(services, request) && !services.runner.halted(study.stream);
    return {
      status: 200,
      message: SUCCESS,
      results: '{}',
      revision: latest(),
      beginStream: () => services.changes.open(response, { isAllowed, latest, known }),
    };
  });
}

/** Each call looks only at what is new since the one before. */
function latestChange({ runner }: Services, request: StudyRequest): () => number {
  const { accepted, design, participants, study } = request;
  const { stream } = study;
  let seen = -1;
  let latest = -1;
  return () => {
    const revision = runner.revision(stream);
    if (revision === seen) return latest;
    const events = runner.state(participantEvents, stream);
    const changed = {
      revision,
      lastStudyWide: runner.state(lastStudyWide, stream),
      design: design(),
      participants,
      events,
    };
    // None of the new events may be one that this key may know of.
    const found = lastChange(changed, accepted.key.where, seen);
    if (found > seen) latest = found;
    seen = revision;
    return latest;
  };
}

/** A browser sends the last id that it received; anything else counts as none. */
function lastEventId(http: IncomingMessage): number {
  const [id = ''] = headerValues(http, 'last-event-id');
  return /^\d{1,15}$/.test(id) ? Number(id) : -1;
}
