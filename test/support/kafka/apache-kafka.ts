/** A real broker without Docker: Apache Kafka's own jars, fetched by Maven, as one KRaft node on free ports. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeCertificate } from '../certificate.ts';
import { freePorts } from '../free-ports.ts';

const VERSION = '3.9.1';
/** The one of docker-compose.yml. */
export const KAFKA_IMAGE = `apache/kafka:${VERSION}`;
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/urn-kafka/', import.meta.url));
const JARS = join(CACHE, VERSION);
/** The user that the second listener knows. */
export const KAFKA_USER = { username: 'relay', password: 'correct-horse' } as const;
/** Kafka wants 16 bytes in base64url; random ones could begin like an option. */
const CLUSTER_ID = Buffer.from('urn-test-cluster').toString('base64url');
const UP_WITHIN_MS = 60_000;

export interface Broker {
  /** Without credentials. */
  readonly address: string;
  /** SASL/PLAIN; undefined if only somebody else's broker is available. */
  readonly saslAddress: string | undefined;
}

/** A broker that somebody ends. */
export interface StartedBroker extends Broker {
  stop(): Promise<void>;
}

/** A broker that a test may kill or stop. */
export type OwnBroker = Awaited<ReturnType<typeof apacheKafka>>;

/** Why it is not available on this machine; undefined if it is. */
export function lacking(): string | undefined {
  const missing = [
    ['java', '-version'],
    // Maven alone takes a second to say its version, and is needed only once.
    ...(existsSync(JARS) ? [] : [['mvn', '-version']]),
    ['openssl', 'version'],
  ]
    .filter(([command = '', version = '']) => spawnSync(command, [version], { stdio: 'ignore' }).status !== 0)
    .map(([command]) => command);
  return missing.length === 0 ? undefined : `${missing.join(' and ')} cannot be found`;
}

/**
 * @param folder for its data and its log
 * @param more settings of the broker, beside those of every test
 */
export async function apacheKafka(folder: string, more: Settings = {}) {
  const jars = fetchJars();
  const [plain = 0, sasl = 0, tls = 0, controller = 0] = await freePorts(4);
  const ports = { plain, sasl, tls, controller };
  const { certFile: caFile, tls: made } = makeCertificate(folder, 'IP:127.0.0.1');
  // A key with its certificate in one file, as Kafka wants them, and the certificate alone for its clients.
  const keyStore = join(folder, 'broker.pem');
  writeFileSync(keyStore, `${made.key}${made.cert}`);
  const settings = join(folder, 'server.properties');
  /** Its partitions are in folders named `<topic>-<number>`. */
  const data = join(folder, 'data');
  writeFileSync(settings, properties(data, ports, keyStore, { ...ONE_NODE, ...more }));
  const java = javaIn(folder, jars);
  cpSync(emptyStorage(jars), data, { recursive: true });
  const classes = await loadedClasses(java, settings);
  rmSync(data, { recursive: true });
  cpSync(emptyStorage(jars), data, { recursive: true });
  let running: Running | undefined;
  /** Resolves when it serves. After `kill`, it comes back with its data. */
  const start = async () => {
    const kafka = run('java', [...java, `-XX:SharedArchiveFile=${classes}`, 'kafka.Kafka', settings]);
    running = kafka;
    await Promise.race([
      started(kafka),
      kafka.exited.then(() => Promise.reject(new Error(`Kafka ended: ${kafka.output()}`))),
    ]);
  };
  const kill = async () => {
    await running?.signal('KILL');
    await running?.exited;
  };
  const broker = {
    address: `127.0.0.1:${ports.plain}`,
    saslAddress: `127.0.0.1:${ports.sasl}`,
    /** With the certificate in `caFile`. */
    tlsAddress: `127.0.0.1:${ports.tls}`,
    caFile,
    data,
    start,
    kill,
    stop: kill,
    pause: () => running?.signal('STOP'),
    resume: () => running?.signal('CONT'),
  };
  await start();
  return broker;
}

type Running = ReturnType<typeof run>;

/** A process that ends when this one does, however that happens: a shell beside it waits for the end of its input. */
const UNTIL_INPUT_ENDS = `exec 3<&0
"$@" </dev/null 3<&- & it=$!
echo "pid $it"
(cat <&3 >/dev/null; kill -9 $it) & guard=$!
wait $it
kill $guard`;

function run(command: string, args: readonly string[]) {
  const shell: ChildProcess = spawn('sh', ['-c', UNTIL_INPUT_ENDS, 'sh', command, ...args]);
  let text = '';
  const collect = (chunk: Buffer) => {
    text = `${text}${chunk}`.slice(-20_000);
    pid ??= Number(/^pid (\d+)$/m.exec(text)?.[1]) || undefined;
  };
  let pid: number | undefined;
  shell.stdout?.on('data', collect);
  shell.stderr?.on('data', collect);
  const exited = new Promise((resolve) => shell.once('exit', resolve));
  shell.once('exit', () => shell.stdin?.destroy());
  return {
    signal: (name: 'KILL' | 'STOP' | 'CONT' | 'TERM') => {
      if (pid !== undefined && shell.exitCode === null) process.kill(pid, `SIG${name}`);
    },
    output: () => text,
    exited,
  };
}

/** A port that accepts is no proof: it may be somebody else's. The broker itself says when it serves. */
async function started(kafka: Running): Promise<void> {
  for (const deadline = Date.now() + UP_WITHIN_MS; Date.now() < deadline; await delay(50))
    if (kafka.output().includes('Kafka Server started')) return;
  throw new Error(`Kafka has not started within ${UP_WITHIN_MS / 1000} s: ${kafka.output()}`);
}

/** How Kafka's programs are run, logging to where a test sees it. */
function javaIn(folder: string, jars: string): string[] {
  const logging = join(folder, 'log4j.properties');
  writeFileSync(logging, LOGGING);
  return [...JVM, `-Dlog4j.configuration=file:${logging}`, '-cp', `${jars}/*`];
}

function fetchJars(): string {
  return madeOnce(JARS, (draft) => {
    writeFileSync(join(draft, 'pom.xml'), POM);
    const jars = join(draft, 'jars');
    const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`];
    const copied = spawnSync('mvn', args, { cwd: draft });
    if (copied.status !== 0) throw new Error(`mvn: ${copied.stdout}${copied.stderr}`);
    return jars;
  });
}

/** A folder as Kafka's own tool formats it. The tool takes more than a second, and makes the same for every broker. */
function emptyStorage(jars: string): string {
  return madeOnce(`${JARS}-storage`, (draft) => {
    const settings = join(draft, 'server.properties');
    const data = join(draft, 'data');
    writeFileSync(settings, properties(data, { plain: 1, sasl: 2, tls: 3, controller: 4 }, 'none', ONE_NODE));
    const format = ['kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', settings];
    const { status, stdout, stderr } = spawnSync('java', [...javaIn(draft, jars), ...format]);
    if (status !== 0) throw new Error(`Kafka's storage: ${stdout}${stderr}`);
    return data;
  });
}

/**
 * The classes of a broker as its JVM has loaded them, of one that runs just for that: with them, the next one starts in half
 * the processor time. Java itself ignores them if they are of another version.
 */
async function loadedClasses(java: readonly string[], settings: string): Promise<string> {
  const archive = `${JARS}-classes`;
  if (existsSync(archive)) return archive;
  const draft = `${archive}-${process.pid}`;
  const kafka = run('java', [...java, `-XX:ArchiveClassesAtExit=${draft}`, 'kafka.Kafka', settings]);
  await started(kafka);
  kafka.signal('TERM');
  await kafka.exited;
  renameSync(draft, archive);
  return archive;
}

/**
 * A folder that all tests share. Another process may make it at the same time; the first one wins.
 * @param make returns the folder that it has made in a draft
 */
function madeOnce(folder: string, make: (draft: string) => string): string {
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, 'draft-'));
  try {
    const made = make(draft);
    try {
      renameSync(made, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>urn</groupId><artifactId>broker-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

const LOGGING = `log4j.rootLogger=WARN, out
log4j.logger.kafka.server.KafkaRaftServer=INFO
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %m (%c)%n
`;

/** For a broker that lives a minute: compiling and collecting in parallel cost more processor time than they save. */
const JVM = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

type Settings = Readonly<Record<string, string>>;
type Ports = Readonly<Record<'plain' | 'sasl' | 'tls' | 'controller', number>>;

function properties(data: string, ports: Ports, keyStore: string, settings: Settings): string {
  const listeners = `PLAINTEXT://127.0.0.1:${ports.plain},SASL_PLAINTEXT://127.0.0.1:${ports.sasl},SSL://127.0.0.1:${ports.tls}`;
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${ports.controller}
listeners=${listeners},CONTROLLER://127.0.0.1:${ports.controller}
advertised.listeners=${listeners}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT
listener.name.ssl.ssl.keystore.type=PEM
listener.name.ssl.ssl.keystore.location=${keyStore}
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=${JAAS}
log.dirs=${data}
${Object.entries(settings)
  .map(([name, value]) => `${name}=${value}\n`)
  .join('')}`;
}

export const JAAS = `org.apache.kafka.common.security.plain.PlainLoginModule required user_${KAFKA_USER.username}="${KAFKA_USER.password}";`;

/** What a single node needs, what makes consumer groups form at once, and what makes it cost little while nobody asks. */
export const ONE_NODE = {
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '1',
  'group.initial.rebalance.delay.ms': '0',
  // Without it, a controller writes a record every half second.
  'metadata.max.idle.interval.ms': '0',
  // The default: nothing of ours may create topics by asking for them.
  'auto.create.topics.enable': 'true',
} as const;
