/** Changes of a design in words, by the settings of the studies file that they are about. */
import type { DesignChange } from '../../../events/study.ts';
import { quote } from '../../base/text.ts';
import { counted } from '../../base/wording.ts';
import { limitTexts, urnText, visitsText } from '../model/design.ts';
import { POLICY_KEYS } from './study-settings.ts';

/** The setting of the studies file that a change is about: `limits`, or `factors.sex`. */
export function settingOf(change: DesignChange): string {
  switch (change.kind) {
    case 'limits':
    case 'blinding':
    case 'visits':
      return change.kind;
    case 'id-pattern':
      return 'id_pattern';
    case 'target':
      return 'target_enrollment';
    case 'policy':
      return `policies.${POLICY_KEYS[change.name]}`;
    case 'arm-closed':
    case 'arm-reopened':
    case 'arm-added':
    case 'arm-stopped':
      return 'treatments';
    case 'ratio':
      return 'ratio';
    case 'urn':
      return (['w', 'alpha', 'beta'] as const).find((name) => change[name] !== undefined) ?? 'D';
    case 'factor-retired':
      return 'factors';
    default:
      return `factors.${change.factor}`;
  }
}

/** What differs from then on. */
export function describeChange(change: DesignChange): string {
  switch (change.kind) {
    case 'level-added':
      return `new level ${quote(change.level)}`;
    case 'level-closed':
      return `${quote(change.level)} takes no new participants`;
    case 'level-reopened':
      return `${quote(change.level)} takes participants again, with its urn as it was`;
    case 'level-renamed': {
      const { level, to, alias } = change;
      const old = alias ? `; requests may still say ${quote(level)}` : '';
      return `${quote(level)} is called ${quote(to)}${old}`;
    }
    case 'factor-retired':
      return `${quote(change.factor)} is retired: never drawn from again, and no longer asked for`;
    case 'arm-closed':
      return `${quote(change.treatment)} takes no new participants`;
    case 'arm-reopened':
      return `${quote(change.treatment)} takes participants again, with its counts as they were`;
    case 'arm-stopped':
      return `nobody on ${quote(change.treatment)} gets packs any more, until it is reopened`;
    case 'arm-added': {
      const { treatment, ratio } = change;
      return `new arm ${quote(treatment)}${ratio === undefined ? '' : `, with ${counted(ratio, 'slot')}`}`;
    }
    case 'visits':
      return visitsText(change.value);
    case 'ratio':
      return change.value.join(':');
    case 'urn':
      return urnText(change);
    case 'limits':
      return limitTexts(change.value).join('; ') || 'none';
    case 'id-pattern':
      return change.value ?? 'none';
    case 'target':
      return change.value === undefined ? 'none' : `${counted(change.value, 'participant')}`;
    case 'blinding':
    case 'policy':
      return String(change.value);
  }
}
