/** What the operations that list and randomize participants share in the OpenAPI document. */
import { z } from 'zod';
import { type Json, ref } from '../request/operation.ts';
import { BgStateResult, placeMembers, recordMembers, remarkMembers } from '../request/schemas.ts';

/** A record of any study, for the documentation. study-view.ts makes the exact schema for each study. */
export const ParticipantRecord = z
  .object({
    ...recordMembers,
    trt: recordMembers.trt.optional(),
    bg_state: BgStateResult.optional(),
    'urn.sequence': placeMembers['urn.sequence'].optional(),
    'urn.revision': placeMembers['urn.revision'].optional(),
    ...remarkMembers,
  })
  .catchall(
    z.string().meta({
      description:
        'f_<factor>: the level of that factor, under its current name. Absent for participants who came after it was retired',
    }),
  );

/** The `results` of both operations. */
export const RECORDS = { type: 'array', items: ref('ParticipantRecord') };

export const EXAMPLE_RECORD = {
  id: '001',
  f_sex: 'Male',
  f_local_site: '30-Dupage County',
  trt: 'RMC-Q',
  datetime: 'Wed, 10 Feb 2021 00:01:08 GMT',
  user: 'site-30',
};

/** The parameters for factors. Each factor is a bare parameter, and the study decides its name. */
export function levelParameters(description: string): Json {
  return {
    name: 'factors',
    in: 'query',
    style: 'form',
    explode: true,
    description: `${description}: one parameter per factor, named like the factor, for example sex=Male`,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    example: { sex: 'Male', local_site: '30-Dupage County' },
  };
}
