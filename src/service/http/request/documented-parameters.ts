/** Parameters and headers that several operations share, as the OpenAPI document describes them. */

import { ParticipantId } from '../../../core/model/members.ts';
import { type Json, jsonSchema } from './operation.ts';

export const STUDY = {
  name: 'study',
  in: 'query',
  required: true,
  description: "The study's name",
  schema: { type: 'string' },
};

/** A factor's name never begins with `urn.`. */
export const MIN_REVISION = {
  name: 'urn.min_revision',
  in: 'query',
  description:
    'Wait until this instance shows at least this revision of the study, for example the Urn-Revision of a response from another instance. After 5 seconds the response is 503.',
  schema: { type: 'integer', minimum: 0 },
};

export const MOMENT = [
  {
    name: 'urn.revision',
    in: 'query',
    description:
      'Show the study as it was at this revision. Also needs the scope `audit`. Cannot be combined with urn.at.',
    schema: { type: 'integer', minimum: 0 },
  },
  {
    name: 'urn.at',
    in: 'query',
    description:
      'Show the study as it was at this time: all events, in the order of their revisions, before the first one with a later time. The header Urn-Revision gives the revision. Also needs the scope `audit`. Cannot be combined with urn.revision.',
    schema: { type: 'string', format: 'date-time' },
    example: '2027-06-30T12:00:00Z',
  },
];

export const BG_STATE_PARAMETER = {
  name: 'urn.bg_state',
  in: 'query',
  description:
    '`omit` leaves the generator states out of the records. Without it, a key with the scope `audit` sees them. When they are omitted, nothing is disclosed and nothing counts against the budget of the key.',
  schema: { type: 'string', enum: ['omit'] },
};

export const EXCEL_PARAMETER = {
  name: 'urn.excel',
  in: 'query',
  description:
    'Only with `Accept: text/csv`. `true` puts an apostrophe before texts that a spreadsheet would take for formulas: those that begin with `=`, `+`, `-` or `@`. Every other program reads the apostrophes as part of the values.',
  schema: { type: 'string', enum: ['true'] },
};

/** Of an answer that is JSON or a list, as `Accept` asks. */
export const VARY = {
  Vary: { description: 'What the response depends on besides the URL', schema: { const: 'Accept' } },
};

export const DRY_RUN_PARAMETER = {
  name: 'urn.dry_run',
  in: 'query',
  description:
    '`true` checks everything and records nothing: nobody is randomized and nothing is drawn. The response has the header Urn-Dry-Run and shows only that the request would be accepted.',
  schema: { type: 'string', enum: ['true'] },
};

export const URN_NEXT = {
  'Urn-Next': {
    description: 'Where the next page begins. Absent if this is the last page.',
    schema: { type: 'integer' },
  },
};

export function idParameter(required: boolean): Json {
  return { name: 'id', in: 'query', required, schema: jsonSchema(ParticipantId) };
}

export function numberParameter(name: string, required: boolean, description: string, minimum = 0): Json {
  return { name, in: 'query', required, description, schema: { type: 'integer', minimum } };
}
