/** What urn studies amend shows of an amendment before anything is recorded. */
import type { DesignChange } from '../../events/study.ts';
import { quote } from '../base/text.ts';
import { counted } from '../base/wording.ts';
import { type KeyLeftBehind, keysLeftBehind } from '../core/access/limited-keys.ts';
import { describeChange, settingOf } from '../core/configuration/amendment.ts';
import { amendedDesign, changedDesign, type Design, hasRatio, ratioText } from '../core/model/design.ts';
import type { Participant } from '../core/model/participants.ts';
import { currentLevels } from '../core/model/participants.ts';
import { amendmentOf, mayKeep } from '../core/study/amendments.ts';
import type { Amend } from '../core/study/commands.ts';
import { participants, studyState } from '../core/study/fold.ts';
import { historyOf, type Odds, oddsOf } from '../core/study/odds.ts';
import type { Study } from '../core/study/studies.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { oddsJson, oddsTable } from './amendment-odds.ts';
import { decisionRows } from './approvals.ts';
import { recordDisclosure } from './disclosed.ts';
import { unknownStudy } from './options.ts';
import { table } from './output.ts';
import { studyText } from './studies-log.ts';

export interface Preview {
  readonly command: Amend;
  readonly after: Design;
  readonly odds: Odds | undefined;
  readonly keys: readonly KeyLeftBehind[];
}

export async function previewOf(log: OpenLog, study: Study, command: Amend): Promise<Preview> {
  const { runner } = log;
  const { stream, design } = study;
  const state = runner.state(studyState, stream);
  if (state.status === 'unregistered') throw unknownStudy(design.name);
  const last = runner.revision(stream);
  const odds = oddsOf(state, command, last + 1);
  if (odds) await recordDisclosure(log, { what: 'balance', study: design.name, toRevision: last });
  const after = amendedDesign(design, amendmentOf(command, design));
  const keys = keysLeftBehind(log.keys.list(), design, after, new Date().toISOString());
  return { command, after, odds, keys };
}

export function previewText(log: OpenLog, study: Study, { command, after, odds, keys }: Preview): string {
  const { amendment, changes, reason } = command;
  const facts = table([
    ['event', 'StudyAmended'],
    ['study', studyText(log, study)],
    ['amendment', String(amendment)],
    ...changes.flatMap((change, i) => {
      const before = changes.slice(0, i).reduce(changedDesign, study.design);
      return rowsOf(log, study, before, change);
    }),
    ...(showsHistory(study, command, odds) ? [['history', historyText(command, study.design)]] : []),
    ['reason', reason],
    ...decisionRows(command),
    ...keys.map((key) => ['key', leftBehind(key)]),
    ['effect', effectOf(command, after)],
  ]);
  if (!odds) return facts;
  return `${facts}\n\nprobability of each arm at the next draw, if the urn of the level is the one that is drawn from\n(not for blinded readers)\n${oddsTable(odds)}`;
}

/** @param before in force when the change is applied */
function rowsOf(log: OpenLog, study: Study, before: Design, change: DesignChange): string[][] {
  switch (change.kind) {
    case 'urn':
      return (['w', 'alpha', 'beta', 'D'] as const).flatMap((name) => {
        const soFar = before.method.name === 'urn' ? before.method[name] : undefined;
        return change[name] === undefined ? [] : [[name, `${change[name]} (so far ${soFar})`]];
      });
    case 'ratio':
      return [['ratio', ratioText(before.treatments, change.value)]];
    default:
      return [[settingOf(change), `${describeChange(change)}${stayingText(log, study, change)}`]];
  }
}

/** With urns, only where odds change. */
function showsHistory({ design }: Pick<Study, 'design'>, command: Amend, odds: Odds | undefined): boolean {
  return odds !== undefined || (design.method.name !== 'urn' && historyOf(command, design) !== undefined);
}

function historyText(command: Amend, design: Design): string {
  const which = historyOf(command, design);
  const hasChoice = command.history === undefined && mayKeep(command.changes, design);
  return hasChoice ? `${which} (by default; --history says otherwise)` : `${which}`;
}

function leftBehind({ keyId, user, limit: { factor, levels } }: KeyLeftBehind): string {
  return `${keyId} of ${user} is limited to ${factor} = ${levels.map(quote).join(' or ')}: it keeps its participants, and cannot enrol anybody new`;
}

/** What a restart does, by method. */
const ANEW: Readonly<Partial<Record<Design['method']['name'], string>>> = {
  urn: 'The urns begin anew',
  blocks: 'Open blocks end, and new ones begin',
  list: 'All entries so far are void, and nobody is randomized until a further list is registered (urn lists add)',
};

function effectOf(command: Amend, after: Design): string {
  const kinds = new Set(command.changes.map(({ kind }) => kind));
  const isRestart = historyOf(command, after) === 'restart';
  const { name } = after.method;
  const isOfUrns = name === 'urn';
  const each = hasRatio(after) ? 'slot' : 'arm';
  return [
    isRestart
      ? `${ANEW[name] ?? 'The method begins anew'}: everybody now in the study stays in it, but is no longer counted.`
      : `No count in ${isOfUrns ? 'any urn' : 'the study'} changes.`,
    ...(kinds.has('level-added') && isOfUrns
      ? [`A new level begins with the same odds for every ${each}.`]
      : []),
    ...(kinds.has('level-added') && name === 'list' && !isRestart
      ? [
          'Nobody with a new level of the strata is randomized until a list has entries for it (urn lists add).',
        ]
      : []),
    ...(kinds.has('level-renamed') ? ['Keys that are limited to a renamed level keep it.'] : []),
    ...(kinds.has('arm-closed') && !isRestart
      ? ['The counts of a closed arm are set aside, and count again if it is reopened.']
      : []),
    ...(kinds.has('arm-added') && !isRestart && isOfUrns
      ? ['A new arm is drawn more often until it has caught up with the others.']
      : []),
  ].join(' ');
}

/** How many participants have a level or an arm that is closed. */
function stayingText({ runner }: OpenLog, { stream, design }: Study, change: DesignChange): string {
  const { kind } = change;
  if (kind !== 'level-closed' && kind !== 'arm-closed' && kind !== 'arm-stopped') return '';
  const { inOrder } = runner.state(participants, stream);
  const has = (one: Participant) => {
    if (change.kind !== 'level-closed') return one.treatment === change.treatment;
    const index = design.factors.findIndex(({ name }) => name === change.factor);
    return currentLevels(one)[index] === change.level;
  };
  const count = inOrder.filter(has).length;
  if (count === 0) return ' (nobody has it)';
  return ` (${counted(count, 'participant keeps', 'participants keep')} it)`;
}

export function previewJson({ design }: Study, { command, odds, keys }: Preview, revision?: number): string {
  const { amendment, changes, protocol } = command;
  const shown = {
    ...{ study: design.name, recorded: revision !== undefined, amendment, revision, changes },
    ...(showsHistory({ design }, command, odds) && { history: historyOf(command, design) }),
    protocol,
    ...(keys.length > 0 && { keysLeftBehind: keys }),
    ...(odds && { nextDraw: oddsJson(odds) }),
  };
  return JSON.stringify(shown, null, 2);
}
