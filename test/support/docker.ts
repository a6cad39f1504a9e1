import { existsSync } from 'node:fs';

export function hasDocker(): boolean {
  return process.env['DOCKER_HOST'] !== undefined || existsSync('/var/run/docker.sock');
}
