/**
 * What an insider could do to a bundle, and what somebody who kept receipts must be told: each bundle is one of
 * version 0.1.0, altered with its seals, leaves and manifest corrected, and refused by both verifiers alike.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../events/record.ts';
import { signCheckpoint } from '../../../src/core/ledger/checkpoint.ts';
import { loadSigningKey } from '../../../src/core/ledger/signing-key.ts';
import { BundleFiles } from '../../e2e/audit/bundle-file.ts';
import { altered, type Row, rowsOf } from '../../e2e/audit/database.ts';
import { bothVerifiers } from '../../support/both-verifiers.ts';
import { requiredPython } from '../../support/numpy.ts';
import { CONTENTS, OldLog } from '../../support/old-log.ts';
import { firstDivergence } from '../../support/own-verifier.ts';
import { temporaryFolders } from '../../support/temporary-folder.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';
const newFolder = temporaryFolders();
const old = new OldLog('0.1.0/ordinary');
const STUDY = 'study-5c760688-ed0d-5d86-91ca-26ffaea6cb59';
const STUDY_ID = STUDY.slice('study-'.length);
const TWIN = 'study-2b6a7d1c-7b52-5b0e-9d0b-1f6a2d7c9e43';

type Content = (typeof CONTENTS)[number];
// biome-ignore lint/suspicious/noExplicitAny: a record before anything is known of it
type Json = any;

describe.skipIf(found === undefined)('both verifiers', () => {
  const verifyBoth = bothVerifiers(python);
  const trusting = ['--trust', old.keys[0] ?? ''];
  const receipts = ['--checkpoint', old.file('receipts.txt')];

  /** A bundle of 0.1.0, changed, without its own checkpoints, which only the log's key can make. */
  async function tampered(
    content: Content,
    change: (bundle: BundleFiles) => void,
    args: readonly string[] = [],
  ) {
    const bundle = BundleFiles.unpack(python, old.file(`${content}.zip`));
    bundle.set('checkpoints.txt', '');
    change(bundle);
    return verifyBoth(await bundle.pack(join(newFolder(), 'tampered.zip')), args);
  }
  const changed =
    (revision: number, change: (record: Json, sealed: Json) => void, stream = STUDY) =>
    (bundle: BundleFiles) =>
      bundle.setRows(
        stream,
        bundle.rows(stream).map((row) => (row.revision === revision ? altered(row, change) : row)),
      );
  /** The configuration as registered and as shown, with all that says it. */
  const configured = (change: (configuration: Json) => void) => (bundle: BundleFiles) => {
    changed(0, (record) => change(record.data.configuration))(bundle);
    const shown = JSON.parse(bundle.text('configuration.json'));
    change(shown);
    bundle.set('configuration.json', JSON.stringify(shown));
  };
  const file = (text: string | Buffer) => {
    const path = join(newFolder(), 'file.txt');
    writeFileSync(path, text);
    return path;
  };

  it.each(CONTENTS)('accept the unchanged bundle, content %s', async (content) => {
    const { code, stdout } = await tampered(content, () => undefined, [...trusting, ...receipts]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('RESULT  nothing wrong was found')]);
    expect(stdout).not.toMatch(/WARNING|SELF-CONSISTENT/);
  });

  describe('refuse receipts if none is of the study:', () => {
    /** Receipts of another study under the same key, as of a log that was replaced as a whole, or of a twin. */
    const others = (stream: string, sizes: readonly number[]) => {
      const key = loadSigningKey(join(old.copyTo(newFolder()), 'signing-key'));
      const root = Buffer.alloc(32, 7);
      const notes = sizes.map((size) => signCheckpoint(`${key.name}/${stream}`, size, root, key));
      return [
        '--checkpoint',
        file(notes.map((note) => `${Buffer.from(note).toString('base64')}\n`).join('')),
      ];
    };
    const sizes = Array.from({ length: 116 }, (_, i) => i + 1);

    it.each(CONTENTS)('all of another study, content %s', async (content) => {
      const args = [...trusting, ...others(TWIN, sizes)];
      const { code, stdout, own } = await tampered(content, () => undefined, args);
      expect(code).toBe(1);
      expect(stdout).toContain(
        `FAILED  none of the given checkpoints is of this study, ${STUDY}; they are of urn/${TWIN} (116)`,
      );
      expect(own.report?.othersOnly).toEqual([{ origin: `urn/${TWIN}`, checkpoints: 116 }]);
      expect(own.text).toContain(
        `FAILED: none of the given checkpoints is of this study; they are of urn/${TWIN} (116)`,
      );
    });

    it('even beside those of the stream access, which the two studies share', async () => {
      const bundle = BundleFiles.unpack(python, old.file('full.zip'));
      const access = file(`${bundle.text('checkpoints.txt').split('\n\n').slice(2, 4).join('\n\n')}\n`);
      const args = [...trusting, ...others(TWIN, [3])];
      expect(readFileSync(access, 'utf8')).toContain('urn/access');
      expect((await tampered('full', () => undefined, [...args, '--checkpoint', access])).code).toBe(1);
      // On their own they claim nothing about any study.
      const alone = [...trusting, '--checkpoint', access];
      expect((await tampered('full', () => undefined, alone)).code).toBe(0);
    });

    it('but not those of a witness if some are of the study, and report how many were left out', async () => {
      const args = [...trusting, ...receipts, ...others(TWIN, [1, 2]), ...others('operations', [9])];
      const { code, stdout, own } = await tampered('full', () => undefined, args);
      expect(code, stdout).toBe(0);
      expect(stdout).toContain(
        `  3 of the given checkpoints were left out, which are of urn/${TWIN} (2), urn/operations (1)`,
      );
      expect(own.text).toContain('3 given checkpoints could not be compared: of a stream that was not');
    });

    it('and a study with an id other than the one to find', async () => {
      const met = ['--study-id', STUDY_ID.toUpperCase()];
      expect((await tampered('blinded', () => undefined, met)).code).toBe(0);
      const other = ['--study-id', TWIN];
      const { code, stdout, own } = await tampered('blinded', () => undefined, other);
      expect(code).toBe(1);
      expect(stdout).toContain(`FAILED  the study ${TWIN.slice(6)} was expected, and this is ${STUDY}`);
      expect(own.text).toContain(`FAILED: the study ${TWIN.slice(6)} was expected`);
      expect((await tampered('full', () => undefined, ['--study-id', 'Sleep'])).code).toBe(2);
    });
  });

  it('do not treat checkpoints in the bundle as kept ones, whoever signed them', async () => {
    const { code, stdout, own } = await verifyBoth(old.file('full.zip'), trusting);
    expect(code).toBe(0);
    expect(stdout).toContain('signed, but nothing kept elsewhere shows that they always were so');
    expect(stdout).toContain('SELF-CONSISTENT ONLY  no checkpoint that was kept elsewhere covers anything');
    expect(own.report).toMatchObject({ ok: true, selfConsistentOnly: true });
    const kept = await verifyBoth(old.file('full.zip'), [...trusting, ...receipts]);
    expect(kept.stdout).not.toContain('SELF-CONSISTENT ONLY');
    expect(kept.own.report).toMatchObject({ ok: true, selfConsistentOnly: false });
  });

  describe('refuse', () => {
    const refuses = async (
      content: Content,
      change: (bundle: BundleFiles) => void,
      where: { stream?: string; revision: number; says: string | RegExp },
    ) => {
      const { code, stdout, own } = await tampered(content, change);
      expect(code, stdout).toBe(1);
      expect(firstDivergence(own)).toMatchObject({ stream: STUDY, ...without(where) });
      expect(stdout).toMatch(where.says);
    };
    const without = ({ says: _, ...where }: { says: unknown }) => where;

    it.each(CONTENTS)(
      'an access stream that was cut off before a revision that is referred to, content %s',
      (content) =>
        refuses(content, (bundle) => bundle.setRows('access', bundle.rows('access').slice(0, 1)), {
          revision: 1,
          says: 'field actor.accessRevision: below the size of access',
        }),
    );

    it.each(CONTENTS)('a participant without a seal for the allocation, content %s', async (content) => {
      const removed = changed(3, (record, sealed) => {
        delete record.seals.allocation;
        delete sealed.allocation;
      });
      await refuses(content, removed, { revision: 3, says: /field seals: members that are missing/ });
    });

    it.each(['open', 'blinded'] as const)('an invalid seal, content %s', async (content) => {
      for (const seal of ['', 'x', 'A'.repeat(64), 'a'.repeat(65), 7])
        await refuses(
          content,
          (bundle) =>
            bundle.setRows(
              STUDY,
              bundle.rows(STUDY).map((row) => (row.revision === 3 ? sealedAs(row, 'draw', seal) : row)),
            ),
          { revision: 3, says: /field seals\.draw: 64 hex digits in lower case/ },
        );
    });

    it.each(['full', 'open'] as const)('an arm that the study does not have, content %s', async (content) => {
      const none = changed(2, (_, sealed) => Object.assign(sealed.allocation, { treatment: 'Placebo' }));
      await refuses(content, none, { revision: 2, says: /field allocation\.treatment/ });
    });

    it.each<[string, (configuration: Json) => void, RegExp]>([
      ['an unknown D', (c) => Object.assign(c, { D: 'entropy' }), /configuration\.D: one of "range"/],
      ['a negative alpha', (c) => Object.assign(c, { alpha: -1 }), /configuration\.alpha: an integer, 0 or/],
      ['a negative beta', (c) => Object.assign(c, { beta: -1 }), /configuration\.beta: an integer, 0 or/],
      ['a w of 0', (c) => Object.assign(c, { w: 0 }), /configuration\.w: an integer, 1 or more/],
      ['two arms of one name', (c) => (c.treatments[1] = c.treatments[0]), /treatments: no name twice/],
      ['one arm', (c) => c.treatments.splice(1), /treatments: a list of at least 2/],
      ['a factor twice', (c) => c.factors.push(c.factors[0]), /factors: no name twice/],
      ['a level twice', (c) => c.factors[0].levels.push(c.factors[0].levels[0]), /levels of .*no name twice/],
      ['a factor without levels', (c) => c.factors[0].levels.splice(0), /levels: a list of at least 1/],
      ['true for 1', (c) => Object.assign(c, { w: true }), /configuration\.w: an integer, 1 or more/],
      ['another method', (c) => Object.assign(c, { urnSelection: 'method2' }), /urnSelection: one of/],
      ['a member of its own', (c) => Object.assign(c, { extra: 1 }), /members that do not belong there/],
    ])('a study registered with %s', async (_, change, says) => {
      await refuses('blinded', configured(change), { revision: 0, says });
    });

    it.each([`records/${STUDY}.txt`, 'records/log.txt', 'records/access.txt'])(
      'a last line that ends with anything but a line feed: %s',
      async (path) => {
        for (const end of ['', '\r', 'x']) {
          const cut = (bundle: BundleFiles) => bundle.set(path, `${bundle.text(path).slice(0, -1)}${end}`);
          const { code, stdout, own } = await tampered('blinded', cut);
          expect([code, stdout]).toEqual([
            1,
            expect.stringContaining(`${path} does not end with a line feed`),
          ]);
          expect(own.report?.bundle?.files).toEqual([{ path, why: 'does not end with a line feed' }]);
        }
      },
    );

    it('records with impossible dates or ids', async () => {
      const changes: [(record: Json) => void, RegExp][] = [
        [(record) => Object.assign(record, { at: '2026-02-30T00:00:00.000Z' }), /at: an instant/],
        [(record) => Object.assign(record, { at: '2026-02-21T00:00:00Z' }), /at: an instant/],
        [(record) => Object.assign(record, { id: 'x' }), /id: a UUID/],
        [(record) => Object.assign(record, { version: 2 }), /version/],
        [(record) => Object.assign(record, { more: 1 }), /do not belong there/],
        [(record) => Object.assign(record.actor, { cli: true }), /actor/],
        [(record) => Object.assign(record, { actor: { cli: true, user: 'root' } }), /actor: an API key/],
        [(record) => Object.assign(record.data, { participantId: 'x\u00a0' }), /no white space/],
        [(record) => Object.assign(record.data, { participantId: 'x\u0085y' }), /no control character/],
        [(record) => Object.assign(record.data, { participantId: 'x'.repeat(129) }), /at most 128/],
      ];
      for (const [change, says] of changes)
        await refuses('blinded', changed(4, change), { revision: 4, says });
    });

    it('an id that another record already has', async () => {
      const first = BundleFiles.unpack(python, old.file('full.zip')).rows(STUDY)[2] as Row;
      const { id } = JSON.parse(`${first.record}`);
      await refuses(
        'blinded',
        changed(9, (record) => Object.assign(record, { id: id.toUpperCase() })),
        { revision: 9, says: /field id: an earlier record or section has the same/ },
      );
    });

    it('keys that are issued twice, revoked twice or by a key, and people who randomize', async () => {
      const [issued] = BundleFiles.unpack(python, old.file('full.zip')).rows('access') as [Row];
      const more = (change: (record: Json, sealed: Json) => void) => (bundle: BundleFiles) =>
        bundle.setRows('access', [
          ...bundle.rows('access'),
          altered({ ...issued, revision: 2 }, (record, sealed) => {
            record.revision = 2;
            record.id = '01a20239-1aae-77c0-abe7-000000000002';
            record.seals.credential = 'a'.repeat(64);
            change(record, sealed);
          }),
        ]);
      const stream = 'access';
      await refuses(
        'full',
        more(() => undefined),
        { stream, revision: 2, says: /data\.keyId: new/ },
      );
      const revoke = (keyId: string) => (record: Json) =>
        Object.assign(record, { type: 'ApiKeyRevoked', data: { keyId }, seals: {} });
      await refuses('full', more(revoke('k000000')), {
        stream,
        revision: 2,
        says: /issued, and not revoked/,
      });
      const { actor } = JSON.parse(
        `${BundleFiles.unpack(python, old.file('full.zip')).rows(STUDY)[1]?.record}`,
      );
      await refuses(
        'full',
        more((record) => Object.assign(record, { actor })),
        { stream, revision: 2, says: /actor: a person/ },
      );
    });

    it('a key that exceeds its limits', async () => {
      const limited = (limits: object) =>
        changed(0, (record) => Object.assign(record.data, limits), 'access');
      const limits: [object, RegExp][] = [
        [{ studies: ['another'] }, /actor\.keyId: for this study/],
        [{ where: [{ factor: 'none', levels: ['x'] }] }, /actor\.keyId: for this level/],
        [{ scopes: ['read'] }, /may randomize/],
        [{ expiresAt: '2026-01-01T00:00:00.000Z' }, /at: before the key expired/],
      ];
      for (const [limit, says] of limits) await refuses('blinded', limited(limit), { revision: 1, says });
      await refuses('blinded', limited({ scopes: ['audit', 'randomize'] }), {
        ...{ stream: 'access', revision: 0, says: /data\.allowPrediction/ },
      });
    });
  });

  describe('refuse equal seals and salts:', () => {
    const SALT = 'ab'.repeat(16);
    const salted =
      (...names: string[]) =>
      (bundle: BundleFiles) =>
        bundle.setRows(
          STUDY,
          bundle.rows(STUDY).map((row) =>
            altered(row, (_, sealed) => {
              for (const name of names) if (sealed[name]) sealed[name].salt = SALT;
            }),
          ),
        );

    it.each(CONTENTS)('one salt for all allocations, content %s', async (content) => {
      // Made in the full one: a blinded bundle of the same log has the same records.
      const whole = BundleFiles.unpack(python, old.file('full.zip'));
      salted('allocation')(whole);
      const { code, stdout, own } = await tampered(content, (bundle) =>
        bundle.setRows(
          STUDY,
          whole.rows(STUDY).map((row) => ({ ...row, sealed: Buffer.from(disclosed(row, content)) })),
        ),
      );
      expect(code, stdout).toBe(1);
      expect(stdout).toMatch(/field (salt|seal): an earlier record or section has the same/);
      expect(firstDivergence(own)?.field).toBe(
        content === 'blinded' ? 'seals.allocation' : 'allocation.salt',
      );
    });

    it('one salt for two sections of a record', async () => {
      const { code, own } = await tampered('full', salted('draw', 'generator'));
      expect(code).toBe(1);
      expect(firstDivergence(own)).toMatchObject({ revision: 1, field: 'draw.salt' });
    });

    it('the seal of one draw copied to another', async () => {
      const rows = BundleFiles.unpack(python, old.file('blinded.zip')).rows(STUDY);
      const { draw } = JSON.parse(`${rows[5]?.record}`).seals;
      const { code, own } = await tampered('blinded', (bundle) =>
        bundle.setRows(
          STUDY,
          bundle.rows(STUDY).map((row) => (row.revision === 7 ? sealedAs(row, 'draw', draw) : row)),
        ),
      );
      expect(code).toBe(1);
      expect(firstDivergence(own)).toMatchObject({ revision: 7, field: 'seals.draw' });
    });
  });

  describe('warn of backdating:', () => {
    it('records older than the access record that they name, with ids from another time', async () => {
      const early = (bundle: BundleFiles) => {
        for (const revision of [2, 3])
          changed(revision, (record) => Object.assign(record, { at: '2026-01-01T00:00:00.000Z' }))(bundle);
      };
      const { code, stdout, own } = await tampered('blinded', early);
      expect(code, stdout).toBe(0);
      expect(stdout).toMatch(
        /^WARNING {2}study-\S+, revision 2: it is older than the .* \(and 1 times more\)$/m,
      );
      expect(stdout).toMatch(
        /^WARNING {2}study-\S+, revision 2: it says 2026-01-01T00:00:00.000Z, and its id/m,
      );
      expect(own.report?.streams.at(-1)?.warnings).toMatchObject([
        { code: 'weak-seed' },
        { code: 'older-than-access', count: 2, revision: 2 },
        { code: 'id-of-another-time', count: 2, revision: 2 },
        { code: 'clock-stepped-back', count: 1, revision: 2 },
      ]);
    });
  });

  it('warn of ids in upper case', async () => {
    const { code, stdout, own } = await tampered(
      'blinded',
      changed(7, (record) => Object.assign(record, { id: record.id.toUpperCase() })),
    );
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/^WARNING {2}study-\S+, revision 7: its id is in upper case/m);
    const warnings = own.report?.streams.at(-1)?.warnings;
    expect(warnings).toContainEqual(expect.objectContaining({ code: 'id-in-upper-case', revision: 7 }));
  });

  it('refuse a log that was begun with a key', async () => {
    const actor = { accessRevision: 0, keyId: 'k0123456789ab', user: 'edc' };
    const begun = changed(0, (record) => Object.assign(record, { actor }), 'log');
    const { code, own } = await tampered('full', begun);
    expect(code).toBe(1);
    expect(firstDivergence(own)).toMatchObject({ stream: 'log', revision: 0, field: 'actor' });
  });

  it.each(CONTENTS)('refuse a key that did nothing in the study, content %s', async (content) => {
    const issued = rowsOf(old.copyTo(newFolder()), 'access');
    const { code, stdout, own } = await tampered(content, (bundle) => {
      const withheld = bundle.rows('access').findIndex(({ record }) => record.length === 0);
      expect(withheld).toBeGreaterThanOrEqual(0);
      const shown = bundle
        .rows('access')
        .map((row, i) => (i === withheld && issued[i] ? { ...issued[i], sealed: Buffer.from('{}') } : row));
      bundle.setRows('access', shown);
    });
    const { keyId } = JSON.parse(`${issued[1]?.record}`).data;
    const why = `shows the key ${keyId}, which did nothing in this study`;
    expect([code, stdout]).toEqual([1, expect.stringContaining(`FAILED  records/access.txt ${why}`)]);
    expect(own.report?.bundle?.files).toEqual([{ path: 'records/access.txt', why }]);
  });

  describe('refuse files that', () => {
    it('do not belong in a bundle, although the manifest lists them', async () => {
      const path = 'records/study-0.txt';
      const { code, stdout, own } = await tampered('full', (bundle) => {
        bundle.set(path, 'more');
        const manifest = JSON.parse(bundle.text('manifest.json'));
        manifest.files.push({ path, bytes: 4, sha256: '' });
        bundle.set('manifest.json', JSON.stringify(manifest));
      });
      expect(code).toBe(1);
      expect(stdout).toContain(`FAILED  ${path} does not belong in a bundle`);
      expect(own.report?.bundle?.files).toEqual([{ path, why: 'does not belong in a bundle' }]);
    });

    it('the manifest lists twice, or that show another configuration', async () => {
      const twice = await tampered('full', (bundle) => {
        const manifest = JSON.parse(bundle.text('manifest.json'));
        manifest.files.push(manifest.files[0]);
        bundle.set('manifest.json', JSON.stringify(manifest));
      });
      expect([twice.code, twice.stdout]).toEqual([1, expect.stringContaining('lists a file twice')]);
      const shown = await tampered('full', (bundle) =>
        bundle.set('configuration.json', bundle.text('configuration.json').replace('"w": 2', '"w": 2.5')),
      );
      expect([shown.code, shown.stdout]).toEqual([1, expect.stringContaining('configuration.json does not')]);
    });

    it.each(['records/log.txt', 'records/access.txt', `records/${STUDY}.txt`, 'configuration.json'])(
      'are required but missing: %s',
      async (path) => {
        const { code, own } = await tampered('full', (bundle) => {
          bundle.files.delete(path);
          const manifest = JSON.parse(bundle.text('manifest.json'));
          manifest.files = manifest.files.filter((one: Json) => one.path !== path);
          bundle.set('manifest.json', JSON.stringify(manifest));
        });
        expect(code).toBe(1);
        expect(own.report?.bundle?.files).toContainEqual({ path, why: 'is missing' });
      },
    );

    it('contain no checkpoint, or no key', async () => {
      const none = ['', '\n', '\n\n', 'urn/x\n1\n', 'A'.repeat(200)].map(file);
      for (const path of none)
        expect((await tampered('full', () => undefined, [...trusting, '--checkpoint', path])).code).toBe(2);
      expect((await tampered('full', (bundle) => bundle.set('checkpoints.txt', '\n'))).code).toBe(2);
      for (const path of ['', 'urn+0+0', `${old.keys[0]}x`].map(file))
        expect((await tampered('full', () => undefined, ['--trust', path])).code).toBe(2);
      expect((await tampered('full', () => undefined, ['--trust', 'nothing'])).code).toBe(2);
    });

    it('are invalid, but read a trusted key from a valid one', async () => {
      const args = ['--trust', file(`${old.keys[0]}\n`), ...receipts];
      const { code, own } = await tampered('full', () => undefined, args);
      expect([code, own.report?.selfConsistentOnly]).toEqual([0, false]);
    });
  });

  it('follow a key’s endorsement of the next one, but only as far as it was given', async () => {
    const every = new OldLog('0.1.0/every-event');
    const kept = ['--checkpoint', every.file('receipts.txt')];
    const first = await verifyBoth(every.file('full.zip'), ['--trust', every.keys[0] ?? '', ...kept]);
    expect(first.code, first.stdout).toBe(0);
    const forged = BundleFiles.unpack(python, every.file('full.zip'));
    forged.set('checkpoints.txt', '');
    forged.setRows(
      'log',
      forged.rows('log').map((row) =>
        row.revision === 1
          ? altered(row, (record) => {
              const [text, signature] = record.data.endorsement.split('— ');
              const [name, code] = signature.trim().split(' ');
              const bytes = Buffer.from(code, 'base64');
              bytes[20] = (bytes[20] ?? 0) ^ 1;
              record.data.endorsement = `${text}— ${name} ${bytes.toString('base64')}\n`;
            })
          : row,
      ),
    );
    const { code, stdout, own } = await verifyBoth(await forged.pack(join(newFolder(), 'forged.zip')));
    expect([code, stdout]).toEqual([1, expect.stringContaining('field data.endorsement: signed by the key')]);
    expect(firstDivergence(own)).toMatchObject({ stream: 'log', revision: 1, field: 'data.endorsement' });
  });
});

/** A record that says another seal of a section that is withheld. */
function sealedAs(row: Row, name: string, seal: unknown): Row {
  return altered(row, (record) => Object.assign(record.seals, { [name]: seal }));
}

function disclosed({ sealed }: Row, content: Content): string {
  const sections: Json = JSON.parse(`${sealed}`);
  if (content === 'full') return `${sealed}`;
  return canonicalJson(content === 'open' && sections.allocation ? { allocation: sections.allocation } : {});
}
