import { z } from 'zod';
import { CodesWithdrawn } from '../../../events/packs.ts';
import { PackCode } from '../../../events/study.ts';
import { isPackWithin } from '../model/key-limits.ts';
import { MAX_ENTRIES } from '../model/list-size.ts';
import { Grounds } from '../model/members.ts';
import { impossible } from '../model/outcomes.ts';
import { isFree, takePack } from '../model/packs.ts';
import { SETTLED } from '../model/status.ts';
import { type FormValues, type StudyContext, studyAct } from './act.ts';

const asks = {
  codes: z.array(PackCode).min(1).max(MAX_ENTRIES).meta({ description: 'Packs that are free' }),
  reason: Grounds,
};
type Values = FormValues<typeof asks>;

/** Packs that nobody has must not be given out. */
export const withdrawPacks = studyAct({
  writes: CodesWithdrawn,
  may: { scopes: ['supply'], commandLine: true, in: SETTLED },
  asks,
  chooses: {
    members: ['count'],
    lacks: (context) => notFree(context).length > 0,
    choose: ({ asked: { codes } }) => ({ count: codes.length }),
    // A code that is unknown, not free, or outside the limits of the key: one text for all.
    none: (context) => impossible('codes', `no free pack has the code ${notFree(context).join(', ')}`),
    // Which packs may be withheld.
    problem: ({ asked: { codes } }: { asked: Partial<Values> }, { count }) =>
      codes && codes.length !== count ? impossible('count', 'not the number of the packs') : undefined,
  },
  // Which ones is sealed.
  apply: (model, { sections: { withdrawn } }) => {
    for (const code of withdrawn?.codes ?? []) {
      model.withdrawn.set(code, true);
      takePack(model, code);
    }
    return {};
  },
});

function notFree({ asked: { codes }, by, model }: StudyContext<Values>): string[] {
  const isKnown = (code: string) => {
    const pack = model.packs.get(code);
    return pack !== undefined && isFree(model, code) && isPackWithin(by.where, pack, model.design);
  };
  return codes.filter((code, i) => !isKnown(code) || codes.indexOf(code) !== i);
}
