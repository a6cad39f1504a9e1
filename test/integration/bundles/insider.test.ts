/**
 * What an insider could do to a bundle, and what somebody who kept receipts must be told: each bundle is altered
 * with its seals, leaves and manifest corrected, and refused by both verifiers alike.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONTENTS, type Content, includedSections } from '../../../events/record.ts';
import { loadSigningKey, makeSigningKey, signCheckpoint } from '../../../src/core/log/signing.ts';
import type { BundleFiles } from '../../e2e/audit/bundle-file.ts';
import { type Row, rowsOf, streamOfStudy } from '../../e2e/audit/database.ts';
import { hasPython, type Json, verifyBoth } from '../../support/altered-bundles.ts';
import { altered } from '../../support/altered-record.ts';
import { bundleFiles } from '../../support/files-in.ts';
import { bundlesIn, bundlesOfMoved, STUDY as NAME, referenceLog } from '../../support/reference-log.ts';
import { temporaryFiles, temporaryFolders } from '../../support/temporary-folder.ts';
import { firstDivergence } from '../../support/verifier.ts';

const newFolder = temporaryFolders();
const file = temporaryFiles('file.txt');
const log = await referenceLog(newFolder());
const bundles = await bundlesIn(log.data);
const moved = await bundlesOfMoved(log, newFolder());
const STUDY = streamOfStudy(log.data, NAME);
const STUDY_ID = STUDY.slice('study-'.length);
const TWIN = 'study-2b6a7d1c-7b52-5b0e-9d0b-1f6a2d7c9e43';
const SALT = 'ab'.repeat(16);
const trusting = ['--trust', log.trusted];
const receipts = ['--checkpoint', log.receipts];
const whole = await bundleFiles(bundles.full);

type Change = (bundle: BundleFiles) => void;

/** A bundle, changed, without its own checkpoints, which only the log's key can make. */
async function tampered(content: Content, change: Change, args: readonly string[] = [], from = bundles) {
  const bundle = await bundleFiles(from[content]);
  bundle.set('checkpoints.txt', '');
  change(bundle);
  return verifyBoth(await bundle.pack(join(newFolder(), 'tampered.zip')), args);
}
const unchanged: Change = () => undefined;
const rowsChanged =
  (change: (row: Row) => Row, stream = STUDY): Change =>
  (bundle) =>
    bundle.setRows(stream, bundle.rows(stream).map(change));
const changed = (revision: number, change: (record: Json, sealed: Json) => void, stream = STUDY): Change =>
  rowsChanged((row) => (row.revision === revision ? altered(row, change) : row), stream);
const set = (revision: number, members: object, stream?: string) =>
  changed(revision, (record) => Object.assign(record, members), stream);
/** The configuration as registered and as shown, with all that says it. */
const configured =
  (change: (configuration: Json) => void): Change =>
  (bundle) => {
    changed(0, (record) => change(record.data.configuration))(bundle);
    jsonChanged('configuration.json', change)(bundle);
  };
const jsonChanged =
  (path: string, change: (json: Json) => void): Change =>
  (bundle) => {
    const json = JSON.parse(bundle.text(path));
    change(json);
    bundle.set(path, JSON.stringify(json));
  };
/** Receipts of another study under the same key, as of a log that was replaced as a whole, or of a twin. */
function others(stream: string, sizes: readonly number[]): string[] {
  const key = loadSigningKey(join(log.data, 'signing-key'));
  const notes = sizes.map((size) => signCheckpoint(`${key.name}/${stream}`, size, Buffer.alloc(32, 7), key));
  return ['--checkpoint', file(notes.map((note) => `${Buffer.from(note).toString('base64')}\n`).join(''))];
}

describe.skipIf(!hasPython)('both verifiers', () => {
  it.each(CONTENTS)('accept the unchanged bundle, content %s', async (content) => {
    // The id may be in upper case.
    const args = [...trusting, ...receipts, '--study-id', STUDY_ID.toUpperCase()];
    const { code, stdout } = await tampered(content, unchanged, args);
    expect([code, stdout]).toEqual([0, expect.stringContaining('RESULT  nothing wrong was found')]);
    expect(stdout).not.toMatch(/WARNING|SELF-CONSISTENT/);
  });

  it('refuse receipts if all are of another study, even beside those of the stream access', async () => {
    // On their own, those claim nothing about any study.
    const access = [
      '--checkpoint',
      file(`${whole.text('checkpoints.txt').split('\n\n').slice(2, 4).join('\n\n')}\n`),
    ];
    expect((await tampered('blinded', unchanged, [...trusting, ...access])).code).toBe(0);
    const args = [...trusting, ...others(TWIN, [1, 2, 3]), ...access];
    const { code, stdout, own } = await tampered('blinded', unchanged, args);
    expect(code).toBe(1);
    const why = `they are of urn/${TWIN} (3)`;
    expect(stdout).toContain(`FAILED  none of the given checkpoints is of this study, ${STUDY}; ${why}`);
    expect(own.text).toContain(`FAILED: none of the given checkpoints is of this study; ${why}`);
  });

  it('accept receipts of others beside those of the study, and report how many were left out', async () => {
    const args = [...trusting, ...receipts, ...others(TWIN, [1, 2]), ...others('operations', [9])];
    const { code, stdout, own } = await tampered('blinded', unchanged, args);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain(
      `  3 of the given checkpoints were left out, which are of urn/${TWIN} (2), urn/operations (1)`,
    );
    expect(own.text).toContain('3 given checkpoints could not be compared: of a stream that was not');
  });

  const cut: Change = (bundle) => bundle.setRows(STUDY, bundle.rows(STUDY).slice(0, 9));
  /** In the clear, everything after it still follows. */
  const rewritten = changed(3, ({ data }) => Object.assign(data.levels[0], { level: 'L0 (0+) – é' }));
  const withOwn =
    (change: Change, edited = (notes: string) => notes): Change =>
    (bundle) => {
      bundle.set('checkpoints.txt', edited(whole.text('checkpoints.txt')));
      change(bundle);
    };
  const forged = (notes: string) => notes.replace(/(study-[^\n]+\n51\n)[^\n]+/, `$1${'A'.repeat(43)}=`);
  const { publicKey } = makeSigningKey('urn');
  const otherKey: Change = (bundle) => {
    changed(0, ({ data }) => Object.assign(data, { publicKey }), 'log')(bundle);
    bundle.set('public-key.txt', `${publicKey}\n`);
  };
  const ofOther = file(whole.text('checkpoints.txt').replaceAll('urn/study', 'nru/study'));
  const kept = [...trusting, ...receipts];

  it.each<[what: string, Change, args: readonly string[], code: number, ...says: string[]]>([
    [
      'which nothing that is left shows',
      cut,
      trusting,
      0,
      'revisions 0 to 8: covered by no checkpoint under a trusted key',
    ],
    [
      'by receipts',
      cut,
      kept,
      1,
      'but here are only 9 records',
      'revisions 0 to 8: as signed: by checkpoints that were kept elsewhere',
    ],
    ['by its own checkpoints', withOwn(cut), [], 1, '51 records were signed, but here are only 9 records'],
    ['rewritten, which nothing that is left shows', rewritten, trusting, 0, 'SELF-CONSISTENT ONLY'],
    [
      'rewritten, by receipts',
      rewritten,
      kept,
      1,
      'the two histories part between revisions 3 and 3',
      'revisions 0 to 2: as signed: by checkpoints that were kept elsewhere',
    ],
    [
      'rewritten, by its own checkpoints',
      withOwn(rewritten),
      trusting,
      1,
      '51 records were signed, but here are other records',
    ],
    ['of a log with another key, which nothing shows', otherKey, [], 0, 'SELF-CONSISTENT ONLY'],
    ['of a log with another key', otherKey, trusting, 1, `the log's key is not trusted: ${publicKey}`],
    ['with a forged checkpoint', withOwn(unchanged, forged), trusting, 1, 'FORGED'],
    ['by a checkpoint of another log', unchanged, ['--checkpoint', ofOther], 1, 'NOT OF THIS LOG'],
  ])('see that the tail is missing, or a consistent history another one: %s', async (_, change, ...rest) => {
    const [args, code, ...says] = rest;
    const verified = await tampered('blinded', change, args);
    expect(verified.code, verified.stdout).toBe(code);
    for (const one of says) expect(verified.stdout).toContain(one);
  });

  it('refuse a study with an id other than the one to find', async () => {
    const { code, stdout, own } = await tampered('blinded', unchanged, ['--study-id', TWIN]);
    expect(code).toBe(1);
    expect(stdout).toContain(`FAILED  the study ${TWIN.slice(6)} was expected, and this is ${STUDY}`);
    expect(own.text).toContain(`FAILED: the study ${TWIN.slice(6)} was expected`);
    expect((await tampered('blinded', unchanged, ['--study-id', 'Sleep'])).code).toBe(2);
  });

  const withoutAllocation = changed(3, (record, sealed) => {
    delete record.seals.allocation;
    delete sealed.allocation;
  });
  const sealed = (revision: number, name: string, seal: unknown) =>
    changed(revision, (record) => Object.assign(record.seals, { [name]: seal }));
  const { id } = JSON.parse(`${whole.rows(STUDY)[2]?.record}`);
  const { actor } = JSON.parse(`${whole.rows(STUDY)[1]?.record}`);
  const { draw } = JSON.parse(`${whole.rows(STUDY)[5]?.record}`).seals;
  const { treatments }: { treatments: string[] } = JSON.parse(whole.text('configuration.json'));
  const salted = (...names: string[]) =>
    rowsChanged((row) =>
      altered(row, (_, sections) => {
        for (const name of names) if (sections[name]) sections[name].salt = SALT;
      }),
    );
  /** Made in the full one: another bundle of the same log has the same records. */
  const oneSalt =
    (content: Content): Change =>
    (bundle) => {
      const alike = (_: Json, { allocation }: Json) =>
        allocation && Object.assign(allocation, { salt: SALT });
      const shown = whole.rows(STUDY).map((row) => {
        const one = altered(row, alike);
        return { ...one, sealed: Buffer.from(includedSections(one.sealed, content)) };
      });
      bundle.setRows(STUDY, shown);
    };
  /** Another record of `access`, after those that are there. */
  const more =
    (members: object): Change =>
    (bundle) => {
      const copy = { ...(whole.rows('access')[0] as Row), revision: 2 };
      const row = altered(copy, (record) => {
        Object.assign(record, { revision: 2, id: '01a20239-1aae-77c0-abe7-000000000002' });
        record.seals.credential = 'a'.repeat(64);
        Object.assign(record, members);
      });
      bundle.setRows('access', [...bundle.rows('access'), row]);
    };
  const key = (limits: object) => changed(0, ({ data }) => Object.assign(data, limits), 'access');
  const person = (participantId: string) => changed(4, ({ data }) => Object.assign(data, { participantId }));
  const record = (members: object) => set(4, members);
  const registered = (members: object) => configured((all) => Object.assign(all, members));
  const unendorsed = changed(
    1,
    ({ data }) => {
      const [text, signature] = data.endorsement.split('— ');
      const [name, code] = signature.trim().split(' ');
      const bytes = Buffer.from(code, 'base64');
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      data.endorsement = `${text}— ${name} ${bytes.toString('base64')}\n`;
    },
    'log',
  );
  const at = (revision: number, stream = STUDY) => ({ stream, revision });
  const shortened: Change = (bundle) => bundle.setRows('access', bundle.rows('access').slice(0, 1));
  const same = /field (salt|seal): an earlier record or section has the same/;

  /** Where both find it in the study, and what the verifier in Python says. */
  it.each<[what: string, revision: number, Change, says: RegExp]>([
    ['a seal in upper case', 3, sealed(3, 'draw', 'A'.repeat(64)), /seals\.draw: 64 hex digits in lower/],
    ['a long seal', 3, sealed(3, 'draw', 'a'.repeat(65)), /field seals\.draw: 64 hex digits/],
    ['a number as a seal', 3, sealed(3, 'draw', 7), /field seals\.draw: 64 hex digits/],
    ['the seal of another draw', 7, sealed(7, 'draw', draw), same],
    ['an id that another record has', 9, set(9, { id: id.toUpperCase() }), /field id: an earlier/],
    ['an impossible date', 4, record({ at: '2026-02-30T00:00:00.000Z' }), /at: an instant/],
    ['no milliseconds', 4, record({ at: '2026-02-21T00:00:00Z' }), /at: an instant/],
    ['an id that is none', 4, record({ id: 'x' }), /id: a UUID/],
    ['another version', 4, record({ version: 2 }), /version/],
    ['another member', 4, record({ more: 1 }), /do not belong there/],
    ['two kinds of actor', 4, record({ actor: { ...actor, cli: true } }), /actor/],
    ['somebody who randomizes', 4, record({ actor: { cli: true, user: 'root' } }), /an API key/],
    [
      'a move',
      4,
      record({ type: 'LogMoved', data: { move: id, to: 'x' }, seals: {} }),
      /an event of a study/,
    ],
    ['white space in an id', 4, person('x\u00a0'), /no white space/],
    ['a control character', 4, person('x\u0085y'), /no control character/],
    ['a long id', 4, person('x'.repeat(129)), /at most 128/],
    ['a key of another study', 1, key({ studies: ['another'] }), /keyId: for this study/],
    ['a key of no level', 1, key({ where: [{ factor: 'none', levels: ['x'] }] }), /keyId: for this level/],
    ['a key that only reads', 1, key({ scopes: ['read'] }), /may randomize/],
    ['an expired key', 1, key({ expiresAt: '2020-01-01T00:00:00.000Z' }), /at: before the key expired/],
    ['a key that is not there', 1, set(1, { actor: { ...actor, keyId: 'k0' } }), /keyId: issued, as far/],
    ["another's key", 1, set(1, { actor: { ...actor, user: 'somebody' } }), /field actor\.user/],
    ['another name', 0, registered({ name: 'X' }), /stream, which follows from the study's name/],
    ['an unknown D', 0, registered({ D: 'entropy' }), /configuration\.D: one of "range"/],
    ['a negative alpha', 0, registered({ alpha: -1 }), /configuration\.alpha: an integer, 0 or/],
    ['a negative beta', 0, registered({ beta: -1 }), /configuration\.beta: an integer, 0 or/],
    ['a w of 0', 0, registered({ w: 0 }), /configuration\.w: an integer, 1 or more/],
    ['true for 1', 0, registered({ w: true }), /configuration\.w: an integer, 1 or more/],
    ['another method', 0, registered({ urnSelection: 'method2' }), /urnSelection: one of/],
    ['a member of its own', 0, registered({ extra: 1 }), /members that do not belong there/],
    ['two arms of one name', 0, registered({ treatments: ['A', 'A'] }), /treatments: no name twice/],
    ['one arm', 0, registered({ treatments: ['A'] }), /treatments: a list of at least 2/],
    ['a factor twice', 0, configured((c) => c.factors.push(c.factors[0])), /factors: no name twice/],
    ['a level twice', 0, configured((c) => c.factors[0].levels.fill('a')), /levels of .*no name twice/],
    ['no levels', 0, configured((c) => c.factors[0].levels.splice(0)), /levels: a list of at least 1/],
  ])('refuse %s', async (_, revision, change, says) => {
    const { code, stdout, own } = await tampered('blinded', change);
    expect([code, firstDivergence(own)], stdout).toEqual([1, expect.objectContaining(at(revision))]);
    expect(stdout).toMatch(says);
  });

  const revoked = { type: 'ApiKeyRevoked', data: { keyId: 'k000000' }, seals: {} };
  const placebo = changed(2, (_, { allocation }) => Object.assign(allocation, { treatment: 'Placebo' }));
  const predicting = key({ scopes: ['audit', 'randomize'] });
  const byKey = set(0, { actor }, 'log');
  const formatted = (format: string | undefined) =>
    changed(0, ({ data }) => Object.assign(data, { format }), 'log');

  type Refused = [what: string, Content, Change, where: object, says: RegExp, of?: typeof bundles];
  const drawn = (field: string, change: (draw: Json) => unknown): Refused => [
    `${field} of a draw`,
    'full',
    changed(12, (_, sections) => change(sections.draw)),
    { ...at(12), field: expect.stringContaining(`draw.${field}`) },
    RegExp(`field draw\\.${field}`),
  ];
  /** Of the log that was moved, whose last records are its LogMoved and LogArrived. */
  const ofMove =
    (change: (rows: readonly [Row, Row, Row, Row]) => readonly Row[]): Change =>
    (bundle) => {
      const rows = change(bundle.rows('log') as [Row, Row, Row, Row]);
      const placed = rows.map((row, revision) =>
        altered({ ...row, revision }, (record) => Object.assign(record, { revision })),
      );
      bundle.setRows('log', placed);
    };
  const behindMove = ofMove((rows) => {
    const { type, data } = JSON.parse(`${rows[1].record}`);
    return rows.with(
      3,
      altered(rows[3], (record) => Object.assign(record, { type, data })),
    );
  });
  const another = changed(6, (_, { allocation }) => {
    allocation.treatment = treatments.find((name) => name !== allocation.treatment);
  });
  const seeded = changed(0, (_, { generator }) => Object.assign(generator, { seed: '1' }));
  const unlike: Change = rowsChanged((row) =>
    row.revision === 4 ? { ...row, record: Buffer.from(`${row.record}`.replace('Z"', 'Y"')) } : row,
  );

  it.each<Refused>([
    drawn('bgStateBefore', (draw) => Object.assign(draw.bgStateBefore, { uinteger: 7, has_uint32: 1 })),
    drawn('candidates', ({ candidates }) => candidates.push('zzz')),
    drawn('selectedFactor', (draw) => Object.assign(draw, { selectedFactor: 'zzz' })),
    drawn('counts', ({ counts }) => counts.reverse().push(1)),
    drawn('balls', ({ balls }) => balls.push(1)),
    drawn('uniform53', (draw) => Object.assign(draw, { uniform53: draw.uniform53 + 1 })),
    drawn('bgStateAfter', (draw) => Object.assign(draw.bgStateAfter.state, { inc: '1' })),
    ['another arm', 'full', another, at(6), /allocation\.treatment\n {4}expected {2}"\w.*"\n {4}found {5}"/],
    ['another seed', 'full', seeded, at(0), /field generator\.bgState/],
    ['a byte of a record', 'full', unlike, { ...at(4), field: 'leaf' }, /Divergence in field leaf/],
    ['an access stream that was cut off', 'blinded', shortened, at(1), /accessRevision: below the size of/],
    ['no seal for an allocation', 'blinded', withoutAllocation, at(3), /seals: members that are missing/],
    ...CONTENTS.map((content): Refused => {
      const where = { stream: STUDY };
      return ['one salt for all allocations', content, oneSalt(content), where, same];
    }),
    ['one salt in a record', 'full', salted('draw', 'generator'), at(1), same],
    ['an arm that the study does not have', 'open', placebo, at(2), /field allocation\.treatment/],
    ['a key issued twice', 'full', more({}), at(2, 'access'), /data\.keyId: new/],
    ['an unknown key revoked', 'full', more(revoked), at(2, 'access'), /and not revoked/],
    ['a key issued by a key', 'full', more({ actor }), at(2, 'access'), /a person/],
    ['a key that could predict', 'blinded', predicting, at(0, 'access'), /data\.allowPrediction/],
    ['a log without its format', 'blinded', formatted(undefined), at(0, 'log'), /members that are missing/],
    ['a log of another format', 'blinded', formatted('urn-log@2'), at(0, 'log'), /data\.format/],
    ['a move by a key', 'blinded', set(2, { actor }, 'log'), at(2, 'log'), /a person/, moved],
    ['a log begun with a key', 'full', byKey, at(0, 'log'), /actor/],
    ['a key that was not endorsed', 'full', unendorsed, at(1, 'log'), /data\.endorsement: signed by/, moved],
    ['another record behind a move', 'full', behindMove, at(3, 'log'), /field type/, moved],
    [
      'an end of another move',
      'full',
      set(3, { data: { move: id, from: 'x' } }, 'log'),
      at(3, 'log'),
      /field data\.move/,
      moved,
    ],
    [
      'an end of no move',
      'full',
      ofMove(([created, rotated, , arrived]) => [created, rotated, arrived]),
      at(2, 'log'),
      /field type/,
      moved,
    ],
    [
      'the same move again',
      'full',
      ofMove((all) => [...all, ...all.slice(2)]),
      at(4, 'log'),
      /field (id|data\.move)/,
      moved,
    ],
  ])('refuse %s, content %s', async (_, content, change, where, says, of = bundles) => {
    const { code, stdout, own } = await tampered(content, change, [], of);
    expect(code, stdout).toBe(1);
    expect(firstDivergence(own)).toMatchObject(where);
    expect(stdout).toMatch(says);
  });

  it('warn of records older than the access record that they name, with ids from another time', async () => {
    const { code, stdout, own } = await tampered('blinded', (bundle) => {
      for (const revision of [2, 3]) set(revision, { at: '2020-01-01T00:00:00.000Z' })(bundle);
      changed(7, (record) => Object.assign(record, { id: record.id.toUpperCase() }))(bundle);
      set(8, { id: id.replace(/[^-]/g, '0') })(bundle);
      set(9, { id: id.replace(/[^-]/g, 'f') })(bundle);
    });
    expect(code, stdout).toBe(0);
    for (const [revision, says] of [
      [2, 'it is older than the .* \\(and 1 times more\\)$'],
      [2, 'it says 2020-01-01T00:00:00.000Z, and its id .* \\(and 3 times more\\)$'],
      [7, 'its id is in upper case'],
    ])
      expect(stdout).toMatch(new RegExp(`^WARNING {2}study-\\S+, revision ${revision}: ${says}`, 'm'));
    expect(own.report?.streams.at(-1)?.warnings).toMatchObject([
      { code: 'weak-seed' },
      { code: 'older-than-access', count: 2, revision: 2 },
      { code: 'id-of-another-time', count: 4, revision: 2 },
      { code: 'clock-stepped-back', count: 1, revision: 2 },
      { code: 'id-in-upper-case', count: 1, revision: 7 },
    ]);
  });

  const issued = rowsOf(newFolder(log.data), 'access');
  /** A key that did nothing in the study, which every bundle withholds. */
  const idle: Change = rowsChanged(
    (row) => (row.record.length > 0 ? row : { ...(issued[row.revision] as Row), sealed: Buffer.from('{}') }),
    'access',
  );
  const { keyId } = JSON.parse(`${issued[1]?.record}`).data;
  const extra: Change = (bundle) => {
    bundle.set('records/study-0.txt', 'more');
    const listed = { path: 'records/study-0.txt', bytes: 4, sha256: '' };
    jsonChanged('manifest.json', ({ files }) => files.push(listed))(bundle);
  };
  const missing =
    (path: string): Change =>
    (bundle) => {
      bundle.files.delete(path);
      jsonChanged('manifest.json', (manifest) => {
        manifest.files = manifest.files.filter((one: Json) => one.path !== path);
      })(bundle);
    };
  const ended =
    (path: string, end: string): Change =>
    (bundle) =>
      bundle.set(path, `${bundle.text(path).slice(0, -1)}${end}`);
  const shown = (bundle: BundleFiles) =>
    bundle.set('configuration.json', bundle.text('configuration.json').replace('"w": 2', '"w": 2.5'));
  const RECORDS = [`records/${STUDY}.txt`, 'records/log.txt', 'records/access.txt'];

  type BadFile = [what: string, Change, path: string, why: string];
  const shows = `shows the key ${keyId}, which did nothing in this study`;
  it.each<BadFile>([
    ['a key that did nothing', idle, 'records/access.txt', shows],
    ['a file that the manifest lists', extra, 'records/study-0.txt', 'does not belong in a bundle'],
    ['another configuration', shown, 'configuration.json', "does not say what the study's first record says"],
    ...[...RECORDS, 'configuration.json'].map((path): BadFile => {
      return [`nothing for ${path}`, missing(path), path, 'is missing'];
    }),
    ...RECORDS.map((path, n): BadFile => {
      const end = ['', '\r', 'x'][n] ?? '';
      const what = `${path}, which ends with ${JSON.stringify(end)}`;
      return [what, ended(path, end), path, 'does not end with a line feed'];
    }),
  ])('refuse a bundle with %s', async (_, change, path, why) => {
    const { code, stdout, own } = await tampered('blinded', change);
    expect(code).toBe(1);
    expect(own.report?.bundle?.files).toContainEqual({ path, why });
    expect(stdout).toMatch(/^FAILED {2}/m);
    if (why !== 'is missing') expect(stdout).toContain(`FAILED  ${path} ${why}`);
  });

  it('refuse a name that would control a terminal, and quote it harmlessly', async () => {
    const name = 'X\nRESULT  nothing wrong was found\n\u001b[8m\u009b8m';
    const { code, stdout } = await tampered(
      'blinded',
      configured((all) => Object.assign(all, { name })),
    );
    expect(code).toBe(1);
    expect(stdout).not.toMatch(/^RESULT {2}nothing/m);
    for (const control of ['\u001b', '\u009b']) expect(stdout).not.toContain(control);
  });

  it('refuse a manifest that lists a file twice', async () => {
    const twice = jsonChanged('manifest.json', ({ files }) => files.push(files[0]));
    const { code, stdout } = await tampered('blinded', twice);
    expect([code, stdout]).toEqual([1, expect.stringContaining('lists a file twice')]);
  });

  it('refuse files that contain no checkpoint, or no key, and read a key from one', async () => {
    const none = ['', '\n', '\n\n', 'urn/x\n1\n', 'A'.repeat(200)].map((text) => [
      '--checkpoint',
      file(text),
    ]);
    const keys = ['', 'urn+0+0', `${log.trusted}x`].map((text) => ['--trust', file(text)]);
    for (const args of [...none, ...keys, ['--trust', 'nothing']])
      expect((await tampered('blinded', unchanged, args)).code).toBe(2);
    expect((await tampered('blinded', (bundle) => bundle.set('checkpoints.txt', '\n'))).code).toBe(2);
    const args = ['--trust', file(`${log.trusted}\n`), ...receipts];
    const { code, own } = await tampered('blinded', unchanged, args);
    expect([code, own.report?.selfConsistentOnly]).toEqual([0, false]);
  });
});
