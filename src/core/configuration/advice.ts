/** Advice on what a studies file leaves out, for whoever checks it. Nothing is wrong, but it is hard to change later. */
import { quote } from '../../base/text.ts';
import type { Finding } from './finding.ts';
import type { ConfiguredStudy } from './study.ts';

/** @param hasPacks whether the study has lists of packs in the log */
export function adviceOn({ configuration, file, lineOf }: ConfiguredStudy, hasPacks: boolean): Finding[] {
  const { name, idPattern, blinding } = configuration;
  const advice = (setting: string, text: string): Finding => ({
    ...{ file, line: lineOf(setting) },
    message: `study ${quote(name)}: ${text}`,
  });
  return [
    ...(idPattern === undefined
      ? [
          advice(
            'id_pattern',
            'it has no id_pattern, so any text can become an id, a name or a date of birth too, and ids stay in the clear forever (hint: id_pattern: "[0-9]{3}-[0-9]{4}" takes ids such as 011-0042)',
          ),
        ]
      : []),
    ...(blinding === 'blinded' && !hasPacks
      ? [
          advice(
            'blinding',
            'it is blinded and has no packs: who hands out the treatment? (hint: with urn codes add, everybody gets a numbered pack and nobody at the site needs the arm; otherwise a person who is not blinded needs a key with the scope read)',
          ),
        ]
      : []),
  ];
}
