/**
 * Writes the types of the pages' requests, from the OpenAPI document of the program as built.
 *
 * usage: node tools/api-types/write.mjs     needs dist/src; writes dist/api-types/openapi.d.ts
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../../dist/src/service/http/openapi.js';

const file = new URL('../../dist/api-types/openapi.d.ts', import.meta.url);
const types = await openapiTS(openApiDocument('built'), { silent: true });
mkdirSync(new URL('.', file), { recursive: true });
writeFileSync(file, astToString(types));
