/**
 * What docs/production.md sets up on one machine: the scripts on a live service, and what the other files name; then
 * docker-compose.yml and the Dockerfile, as far as they can be checked where no container can be started.
 */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Database } from '../../../src/store/sqlite/library.ts';
import { clientOf } from '../../support/client.ts';
import { commandOk } from '../../support/command.ts';
import { PROJECT } from '../../support/project-copy.ts';
import { issueKey } from '../../support/service.ts';
import { type ServiceHere, serveHere } from '../../support/service-here.ts';
import { damageLastRecord, storedLog } from '../../support/stored-log.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';
import { COOK, TRIALS } from '../../support/trials.ts';

const newFolder = temporaryFolders();
const file = (name: string) => readFileSync(join(PROJECT, 'deploy', name), 'utf8');

function script(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const around = { env: { ...process.env, ...env } };
  return new Promise<{ code: number | null; output: string }>((resolve) => {
    const child = execFile(join(PROJECT, 'deploy', name), args, around, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, output: stderr + stdout }),
    );
  });
}

describe('backup.sh and restore.sh', () => {
  let service: ServiceHere;
  let client: ReturnType<typeof clientOf>;
  const data = newFolder();
  const backups = newFolder();
  const env = { URN_DATA: data, URN_BACKUP_METRIC: join(newFolder(), 'urn_backup.prom') };
  const made = () => readdirSync(backups).map((name) => join(backups, name));

  beforeAll(async () => {
    const key = await issueKey(data, 'edc');
    service = await serveHere(data, TRIALS);
    client = clientOf(service.url, key);
  });
  afterAll(() => service.stop());

  it('a backup of a live service is verified, is its owner’s alone, and restores with nothing missing', async () => {
    // Written a moment after the start; a backup takes it along.
    await expect.poll(() => readdirSync(data)).toContain('last-checkpoints');
    const posting = { isDone: false, statuses: new Set<number>() };
    const posted = (async () => {
      for (let i = 0; !posting.isDone; i++)
        posting.statuses.add((await client.randomize('Sleep', `a${i}`, COOK)).status);
    })();
    const { code, output } = await script('backup.sh', [backups], env);
    posting.isDone = true;
    await posted;
    expect([...posting.statuses]).toEqual([200]);
    expect(code, output).toBe(0);
    const [backup = ''] = made();
    expect(output.trim()).toBe(backup);
    const files = ['signed-before', 'signing-key', 'urn.sqlite', 'verified.txt'];
    expect(readdirSync(backup).toSorted()).toEqual(files);
    for (const name of readdirSync(backup)) expect(statSync(join(backup, name)).mode & 0o77, name).toBe(0);
    expect(readFileSync(join(backup, 'verified.txt'), 'utf8')).toContain('RESULT: no fault was found');
    const metric = readFileSync(env.URN_BACKUP_METRIC, 'utf8');
    expect(metric).toMatch(/^urn_backup_last_success_timestamp_seconds \d+$/m);
    const elsewhere = join(newFolder(), 'restored');
    // As on a machine that has no data folder any more.
    expect(await script('restore.sh', [backup, elsewhere], { URN_DATA: newFolder() })).toMatchObject({
      code: 0,
      output: expect.stringMatching(/no last-checkpoints[\s\S]*nothing is missing in it/),
    });
  });

  it('a backup goes through a pipe, as out of a container and into one, and leaves nothing beside the log', async () => {
    const [archive, restored] = [join(newFolder(), 'backup.tar'), join(newFolder(), 'restored')];
    const line = `deploy/backup.sh - > ${archive} && deploy/restore.sh - ${restored} < ${archive}`;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], {
      ...{ cwd: PROJECT, encoding: 'utf8', env: { ...process.env, URN_DATA: data } },
    });
    expect(status, stderr).toBe(0);
    expect(stdout).toContain('nothing is missing in it');
    expect(readdirSync(data).filter((name) => name.startsWith('.part'))).toEqual([]);
  });

  it('a restore says what the backup lacks, and leaves the data folder as it is', async () => {
    const [backup = ''] = made();
    await client.randomize('Sleep', 'after', COOK);
    await service.stop();
    const before = readdirSync(data);
    const restored = join(newFolder(), 'restored');
    const { code, output } = await script('restore.sh', [backup, restored], env);
    expect(code, output).toBe(1);
    expect(output).toMatch(/would be declared:[\s\S]*at least \d+ +Sleep/);
    expect(output).toContain('lacks records');
    expect(readdirSync(data)).toEqual(before);
    expect((await script('restore.sh', [backup, restored], env)).code).toBe(2);
  });

  it('a backup of a log that does not verify is refused, and none is kept', async () => {
    const study = storedLog(data).findLast(({ stream }) => stream.startsWith('study-'));
    damageLastRecord(data, study?.stream ?? '');
    const kept = made();
    const { code, output } = await script('backup.sh', [backups], env);
    expect(code).toBe(1);
    expect(output).toContain('the copy does not verify');
    expect(made()).toEqual(kept);
  });

  it('a log that was written before 1.0.0 is refused by name, and no file is left beside it', async () => {
    const db = new Database(join(data, 'urn.sqlite'));
    db.pragma('user_version = 1');
    db.close();
    const before = readdirSync(data);
    const { code, output } = await script('backup.sh', [backups], env);
    expect(code).toBe(1);
    expect(output).toContain('urn.sqlite was written before 1.0.0; nothing was changed');
    expect(readdirSync(data)).toEqual(before);
  });
});

describe('the files of deploy/ for one machine', () => {
  it('urn.env sets what urn serve knows', async () => {
    const help = await commandOk(['serve', '--help']);
    const names = [...file('urn.env').matchAll(/\b(URN_[A-Z_]+)=/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) expect(help.replaceAll(/\s+/g, ' ')).toContain(`env: ${name})`);
  });

  it('urn.service runs the program as a user of its own that can write to its data folder only, and dumps no core', () => {
    const lines = file('urn.service').split('\n');
    const folder = /^URN_DATA=\/var\/lib\/(.*)$/m.exec(file('urn.env'))?.[1];
    const wanted = [
      ...['User=urn', `StateDirectory=${folder}`, 'ProtectSystem=strict', 'LimitCORE=0'],
      ...['NoNewPrivileges=yes', 'Restart=always', 'EnvironmentFile=/etc/urn/urn.env'],
      'ExecStart=/opt/urn/current/bin/urn.js serve',
    ];
    expect(lines).toEqual(expect.arrayContaining(wanted));
    expect(lines.filter((line) => line.startsWith('ReadWritePaths'))).toEqual([]);
  });

  it('alerts.yml asks for metrics that the service has, or that its head says come from elsewhere', () => {
    const ours = ['monitoring/metrics.ts', 'relay/relay-metrics.ts']
      .map((name) => readFileSync(join(PROJECT, 'src/service', name), 'utf8'))
      .join();
    const text = file('alerts.yml');
    interface Group {
      readonly rules: readonly { alert: string; expr: string; annotations: { summary: string } }[];
    }
    const rules = (parse(text).groups as Group[]).flatMap((group) => group.rules);
    const asked = rules.flatMap(({ expr }) => expr.match(/\burn_[a-z_]+\b/g) ?? []);
    const head = text.slice(0, text.indexOf('groups:'));
    for (const name of asked) if (!head.includes(name)) expect(ours, name).toContain(`'${name}'`);
    expect(rules.length).toBeGreaterThan(10);
    for (const { alert, annotations } of rules) expect(annotations.summary, alert).toMatch(/\.$/);
  });

  it('every file that docs/production.md names is there', () => {
    const text = readFileSync(join(PROJECT, 'docs/production.md'), 'utf8');
    for (const [path] of text.matchAll(/\bdeploy\/[\w.-]+\w/g))
      expect(existsSync(join(PROJECT, path)), path).toBe(true);
  });
});

const compose = parse(readFileSync(join(PROJECT, 'docker-compose.yml'), 'utf8'), { merge: true });
// biome-ignore lint/suspicious/noExplicitAny: the tests ask what it has.
const services = Object.entries<any>(compose.services);
const dockerfile = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8');
const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));

describe('docker-compose.yml', () => {
  it('starts the embedded default without a profile, and everything else with one', () => {
    const without = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(without).toEqual(['urn']);
    for (const [name, { profiles }] of services) if (name !== 'urn') expect(profiles).toEqual(['cluster']);
  });

  it.each(services)('%s names things that exist, and a version', (_, service) => {
    expect(service.image).toMatch(/^[a-z/]+:[\w.-]*\d[\w.-]*$/);
    if (service.build !== undefined) {
      const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
      expect(service).toMatchObject({ image: `urn:${version}`, init: true });
      expect(service.build).toEqual({
        context: '.',
        args: { COMMIT: expect.stringContaining('{COMMIT:-}') },
      });
    }
    for (const volume of service.volumes ?? []) {
      const [source, target] = volume.split(':');
      expect(target).toMatch(/^\//);
      if (source.startsWith('./')) expect(existsSync(join(PROJECT, source)), source).toBe(true);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    for (const [name, { condition }] of Object.entries<{ condition: string }>(service.depends_on ?? {})) {
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
      const inImage = [...image.matchAll(/\b(URN_[A-Z_]+)=/g)].map(([, variable]) => variable ?? '');
      const ofServe = name === 'serve' ? inImage : [];
      for (const variable of [...Object.keys(environment), ...ofServe]) expect(help).toContain(variable);
      for (const option of args.filter((arg: string) => arg.startsWith('--')))
        expect(help).toContain(`${option} `);
    },
  );

  it('gives every instance the same log and key, and its own folder', () => {
    const cluster = ['urn-1', 'urn-2', 'relay'].map((name) => compose.services[name]);
    const [first, ...others] = cluster.map(({ environment, volumes }) => [
      ...[environment.URN_STORE, environment.URN_SIGNING_KEY],
      volumes.find((volume: string) => /:\/key(:|$)/.test(volume)).replace(/:ro$/, ''),
    ]);
    expect(first).not.toContain(undefined);
    expect(others).toEqual([first, first]);
    const folders = cluster.map(({ volumes }) => volumes.find((volume: string) => volume.endsWith(':/data')));
    expect(new Set(folders).size).toBe(3);
    const used = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((volume: string) => volume.split(':')[0]),
    );
    expect(used).toEqual(expect.arrayContaining(Object.keys(compose.volumes)));
    expect(folders).not.toContain(undefined);
  });

  it('does not restart a relay that was fenced, and lets it read the key', () => {
    const { restart, command, volumes } = compose.services.relay;
    // Docker restarts on every code except 0.
    expect(restart).toBe('on-failure');
    expect(command.join(' ')).toContain('--fenced-exit-code 0');
    expect(volumes).toContain('signing-key:/key:ro');
  });

  it('gives the proxy everything that its configuration needs', () => {
    const asked = [...file('haproxy.cfg').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
    const given = Object.keys(compose.services.proxy.environment);
    expect(given.toSorted()).toEqual([...new Set(asked)].toSorted());
  });
});

it('the studies of the container are those of the example', () => {
  const [mounted, example] = ['config/studies.yaml', 'studies.yaml'].map((name) =>
    readFileSync(join(PROJECT, name)),
  );
  expect(mounted).toEqual(example);
});

describe('the Dockerfile', () => {
  it('copies files that exist', () => {
    const lines = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)];
    const copied = lines.flatMap(([, from = '']) => from.split(' '));
    expect(copied.length).toBeGreaterThan(5);
    for (const path of copied) expect(existsSync(join(PROJECT, path)), path).toBe(true);
  });

  it('has everything in the image that the program looks up by package.json', () => {
    const { imports } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
    const copied = [...image.matchAll(/^COPY --from=\w+ \/app\/(\S+) /gm)].map(([, from]) => from);
    for (const target of Object.values<string>(imports)) {
      const path = target.replace(/^\.\//, '').replace(/\/\*$/, '');
      const isThere = copied.some((from) => path === from || path.startsWith(`${from}/`));
      expect(isThere, path).toBe(true);
    }
  });
});
