/** GET /participant_history: everything that happened to one participant, without the arm. */
import { z } from 'zod';
import { PARTICIPANT_ACTS } from '../../../core/acts/acts.ts';
import {
  ENROLMENTS,
  historyOf,
  type ParticipantEvent,
  type WholeEnrolment,
} from '../../../core/model/participants.ts';
import { participantEvents, participants } from '../../../core/study/fold.ts';
import {
  ERRORS,
  idParameter,
  MIN_REVISION,
  NOT_FOUND,
  operation,
  ref,
  STUDY,
} from '../request/openapi-operation.ts';
import { refuseProblems, unknownParameters } from '../request/parameters.ts';
import { HttpProblem } from '../request/problem.ts';
import { listJson, SUCCESS } from '../request/reply.ts';
import { mayKnowOf, type Services, studyHandler } from '../request/study-request.ts';

const SCOPES = ['read', 'blinded', 'audit'] as const;
const PARAMETERS = new Set(['api_key', 'study', 'id', 'urn.min_revision']);

export const ParticipantHistoryResult = z.array(
  z.strictObject({
    revision: z.int(),
    at: z.string().meta({ description: 'When it was recorded, in ISO 8601 (UTC)' }),
    user: z.string(),
    key_id: z.string().optional().meta({ description: 'Absent for somebody at the command line' }),
    on_behalf_of: z.string().optional(),
    type: z.enum([...ENROLMENTS, ...PARTICIPANT_ACTS]),
    data: z.record(z.string(), z.unknown()).meta({
      description:
        'What the record holds in the clear (docs/event-log.md). Levels have the names of that time. It names no arm.',
    }),
    note: z.string().optional().meta({
      description: 'Free text about the participant. Only for a key with the scope `read` or `audit`',
    }),
    requested_by: z
      .string()
      .optional()
      .meta({ description: 'Who asked for a code-break. Shown like `note`.' }),
  }),
);
type HistoryResult = z.infer<typeof ParticipantHistoryResult>;

const EXAMPLE: HistoryResult = [
  {
    revision: 7,
    at: '2027-03-01T09:12:44.310Z',
    user: 'site-11',
    key_id: 'k5f1c09ab34d2',
    type: 'ParticipantRandomized',
    data: { participantId: '001-0007', levels: [{ factor: 'sex', level: 'Male' }] },
  },
  {
    revision: 42,
    at: '2027-03-04T02:11:09.120Z',
    user: 'night-desk',
    key_id: 'k9c7b5c46fe75',
    type: 'AllocationRevealed',
    data: {
      category: 'emergency',
      participantId: '001-0007',
      randomizedAt: 7,
      reveal: '2f6d1f0e-8c1b-4a57-9d4e-0d1f7b6a5c3e',
    },
  },
];

export const participantHistoryOperation = operation(
  'Show what happened to one participant',
  'participantHistory',
  SCOPES,
  {
    parameters: [STUDY, idParameter(true), MIN_REVISION],
    result: ref('ParticipantHistory'),
    example: EXAMPLE,
    empty: [],
    errors: {
      ...ERRORS,
      404: NOT_FOUND,
    },
  },
);

export function getParticipantHistory(services: Services) {
  return studyHandler(services, SCOPES, async (request) => {
    const {
      query,
      study,
      turn,
      accepted: { key },
    } = request;
    const id = query.get('id') ?? '';
    const problems = unknownParameters(query, PARAMETERS, 'participant_history');
    if (id === '') problems.push('id is missing');
    refuseProblems(problems);
    const { runner, history } = services;
    const participant = runner.state(participants, study.stream).find(id);
    if (!participant || !mayKnowOf(request, participant))
      throw new HttpProblem(404, 'There is no such participant');
    const events = await historyOf(
      runner.state(participantEvents, study.stream),
      participant.revision,
      (revision) => turn.inOrder(() => history.event(study.stream, revision)),
    );
    const withNotes = key.scopes.includes('read') || key.scopes.includes('audit');
    const shown = events.map((event) => ({
      ...common(event),
      ...(withNotes && notesOf(event)),
    }));
    const results = listJson(ParticipantHistoryResult, shown);
    return { status: 200, message: SUCCESS, results, revision: study.revision };
  });
}

function common({
  revision,
  at,
  actor,
  type,
  data,
}: Pick<ParticipantEvent, 'revision' | 'at' | 'actor'> &
  Pick<HistoryResult[number], 'type' | 'data'>): HistoryResult[number] {
  return {
    ...{ revision, at, user: actor.user },
    ...('keyId' in actor && {
      key_id: actor.keyId,
      ...(actor.onBehalfOf !== undefined && { on_behalf_of: actor.onBehalfOf }),
    }),
    ...{ type, data },
  };
}

function notesOf({
  sections,
}: ParticipantEvent | WholeEnrolment): Pick<HistoryResult[number], 'note' | 'requested_by'> {
  if ('note' in sections) return { note: sections.note.text };
  if (!('grounds' in sections)) return {};
  const { reason, requestedBy } = sections.grounds;
  return { note: reason, ...(requestedBy !== undefined && { requested_by: requestedBy }) };
}
