/** Whether tests can use a container: a Docker engine must answer, and have the image. */
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const ANSWERS_WITHIN_MS = 10_000;

/** Why there is no container of this image; undefined if there can be one. Images are not fetched: that may take minutes, and fail. */
export async function dockerLacking(image: string): Promise<string | undefined> {
  if (process.env['DOCKER_HOST'] === undefined && !existsSync('/var/run/docker.sock'))
    return 'there is no Docker engine';
  // Loading it takes half a second of processor time, which runs without Docker are spared.
  const { getContainerRuntimeClient, ImageName } = await import('testcontainers');
  const has = getContainerRuntimeClient().then((engine) => engine.image.exists(ImageName.fromString(image)));
  return Promise.race([
    has.then(
      (isThere) =>
        isThere ? undefined : `the Docker engine does not have ${image} (hint: docker pull ${image})`,
      () => 'no Docker engine answers',
    ),
    setTimeout(ANSWERS_WITHIN_MS, 'no Docker engine answers', { ref: false }),
  ]);
}
