/** What can be checked of docker-compose.yml and the Dockerfile where no container can be started. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { commandOk } from '../../support/command.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface ComposeService {
  readonly build?: string;
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: unknown;
  readonly restart?: string;
  readonly ulimits?: Readonly<Record<string, number>>;
}

const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const services = Object.entries(compose.services);
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

describe('docker-compose.yml', () => {
  it('starts the embedded default without a profile, and everything else with one', () => {
    const without = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(without).toEqual(['urn']);
    for (const [name, { profiles }] of services) if (name !== 'urn') expect(profiles).toEqual(['cluster']);
  });

  it.each(services)('%s names things that exist, and a version', (_, service) => {
    if (service.image !== undefined) expect(service.image).toMatch(/^[a-z/]+:[\w.-]*\d[\w.-]*$/);
    else expect(service.build).toBe('.');
    for (const [source = '', target = ''] of (service.volumes ?? []).map((volume) => volume.split(':'))) {
      expect(target).toMatch(/^\//);
      if (source.startsWith('./')) expect(existsSync(join(ROOT, source)), source).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
      const other = compose.services[name];
      // Ours have a health check in the image.
      if (condition === 'service_healthy') expect(other?.healthcheck ?? other?.build).toBeDefined();
      else expect(condition).toBe('service_completed_successfully');
    }
  });

  it.each(services.filter(([, { build }]) => build !== undefined))(
    '%s uses options that the program has, and dumps no core',
    async (_, { command = ['serve'], environment = {}, ulimits }) => {
      expect(ulimits).toEqual({ core: 0 });
      const [name = '', ...args] = command;
      const help = await commandOk([name, '--help']);
      const inImage = [...dockerfile.matchAll(/\b(URN_[A-Z_]+)=/g)].map(([, variable]) => variable ?? '');
      const ofServe = name === 'serve' ? inImage : [];
      for (const variable of [...Object.keys(environment), ...ofServe]) expect(help).toContain(variable);
      for (const option of args.filter((arg) => arg.startsWith('--'))) expect(help).toContain(`${option} `);
    },
  );

  it('gives every instance the same log and key, and its own folder', () => {
    const cluster = ['urn-1', 'urn-2', 'relay'].map((name) => compose.services[name]);
    const settings = cluster.map((one) => [
      one?.environment?.['URN_STORE'],
      one?.environment?.['URN_SIGNING_KEY'],
      one?.volumes?.find((volume) => /:\/key(:|$)/.test(volume))?.replace(/:ro$/, ''),
    ]);
    expect(new Set(settings.map((one) => JSON.stringify(one))).size).toBe(1);
    const folders = cluster.map((one) => one?.volumes?.find((volume) => volume.endsWith(':/data')));
    expect(new Set(folders).size).toBe(3);
    const used = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')[0]));
    expect(used).toEqual(expect.arrayContaining(Object.keys(compose.volumes)));
    expect(folders).not.toContain(undefined);
  });

  it('does not restart a relay that was fenced, and lets it read the key', () => {
    const { restart, command, volumes } = compose.services['relay'] ?? {};
    // Docker restarts on every code except 0.
    expect(restart).toBe('on-failure');
    expect(command?.join(' ')).toContain('--fenced-exit-code 0');
    expect(volumes).toContain('signing-key:/key:ro');
  });

  it('gives the proxy everything that its configuration needs', () => {
    const file = readFileSync(join(ROOT, 'deploy/haproxy.cfg'), 'utf8');
    const asked = [...file.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
    expect(Object.keys(compose.services['proxy']?.environment ?? {}).toSorted()).toEqual(
      [...new Set(asked)].toSorted(),
    );
  });
});

describe('the Dockerfile', () => {
  it('copies files that exist', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    expect(copied.length).toBeGreaterThan(5);
    for (const path of copied) expect(existsSync(join(ROOT, path)), path).toBe(true);
  });

  it('has everything in the image that the program looks up by package.json', () => {
    const { imports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly imports: Readonly<Record<string, string>>;
    };
    const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const copied = [...image.matchAll(/^COPY (?:--from=build \/app\/)?(\S+) /gm)].map(([, from]) => from);
    for (const target of Object.values(imports)) {
      const path = target.replace(/^\.\//, '').replace(/\/\*$/, '');
      const isThere = copied.some((from) => path === from || path.startsWith(`${from}/`));
      expect(isThere, path).toBe(true);
    }
  });
});
