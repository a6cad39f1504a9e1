/** What tests use when there is a Docker engine: only what it has. */
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { dockerLacking } from '../support/docker.ts';
import { temporaryFolders } from '../support/temporary-folder.ts';

const newFolder = temporaryFolders();

it('an engine that does not answer, or does not have the image, is not used', async () => {
  vi.stubEnv('DOCKER_HOST', `unix://${join(newFolder(), 'nobody.sock')}`);
  const why = await dockerLacking('nobody/has-this:1').finally(() => vi.unstubAllEnvs());
  // There may be another engine at the usual place.
  expect(why).toMatch(/^no Docker engine answers$|does not have nobody\/has-this:1/);
});
