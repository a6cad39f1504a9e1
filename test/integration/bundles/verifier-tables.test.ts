/** What the verifier in Python knows of events, rights and instants is what the program does. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { catalogue, type StudyFact } from '../../../events/catalogue.ts';
import { microsecondsOf } from '../../../src/base/time.ts';
import { mayOf } from '../../../src/core/acts/acts.ts';
import { STATUSES } from '../../../src/core/model/outcomes.ts';
import { requiredPython } from '../../support/numpy.ts';
import { verifierValue } from '../../support/verifier.ts';

const found = requiredPython('numpy, cryptography');
const python = found ?? '';

describe.skipIf(found === undefined)('the verifier in Python knows', () => {
  it('who may write what, and when, as the program does', () => {
    const acts = verifierValue(python, '{kind: act._asdict() for kind, act in ACTS.items()}');
    const ofStudies = catalogue.all().filter(({ stream }) => stream === 'study');
    const ours = ofStudies.map(({ type }) => {
      const { commandLine: cli, scopes, in: states } = mayOf(type as StudyFact['type']);
      return [type, { cli, scopes, states }];
    });
    expect(acts).toEqual(Object.fromEntries(ours));
    expect(verifierValue(python, 'EVERY_STATE')).toEqual(STATUSES);
  });

  it('every event of the streams in a bundle, with its members and sections', () => {
    const events = verifierValue(
      python,
      `{name: [
         [sorted(shape) for shape in getattr(event.data, 'shapes', [event.data])],
         sorted(event.sections),
       ] for name, event in EVENTS.items()}`,
    );
    const mark = (name: string, isOptional: boolean) => (isOptional ? `${name}?` : name);
    expect(events).toEqual(
      Object.fromEntries(
        catalogue.all().flatMap(({ type, stream, data, sections }) => {
          if (stream === 'operations') return [];
          const shapes = (data instanceof z.ZodUnion ? data.options : [data]) as z.ZodObject[];
          const members = shapes.map(({ shape }) =>
            Object.entries(shape)
              .map(([name, schema]) => mark(name, (schema as z.ZodType).safeParse(undefined).success))
              .sort(),
          );
          const names = sections.map(({ name, isOptional }) => mark(name, isOptional));
          return [[type, [members, names.sort()]]];
        }),
      ),
    );
  });

  it('how the instants of other systems are read', () => {
    const texts = [
      ...['2026-01-01', '2026-02-30', '2024-02-29', '2023-02-29', '0000-02-29', '9999-12-31', '2026-13-01'],
      ...['2026-01-01 05:06', '2026-01-01T05:06:07', '2026-01-01 05:06:07.1', '2026-01-01 05:06:07.123456'],
      ...['2026-01-01 05:06.5', '2026-01-01 05:06:07.', '2026-01-01 05:06:07.1234567', '2026-01-01T05', ''],
      ...['2026-01-01Z', '2026-01-01+0200', '2026-01-01 05:06-02:30', '2026-01-01 05:06+2359', '-2026-01-01'],
      ...['2026-01-01 05:06+24:00', '2026-01-01 05:06+00:60', '2026-01-01 24:00', '2026-01-01 24:00:00.5'],
      ...['2026-01-01 24:00:01', '2026-01-01 24:01', '2026-01-01 23:60', '2026-01-01 23:59:60', '٢٠٢٦-01-01'],
      ...['0000-01-01 00:00+01:00', '2400-01-01 00:00:00.000001', '9999-12-31 24:00:00.999999'],
      ...[
        '1600-02-29 12:00:00.000003',
        '2026-01-01\n',
        ' 2026-01-01',
        '2026-01-01 05:06z',
        '2026-01-01t05:06',
      ],
    ];
    const read = `[microseconds(text) for text in json.loads(${JSON.stringify(JSON.stringify(texts))})]`;
    expect(verifierValue(python, read)).toEqual(texts.map((text) => microsecondsOf(text) ?? null));
  });
});
