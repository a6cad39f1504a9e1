/** What `urn serve` prints when a log has no key yet: the first one, and how to use it. */

import { printable } from '../base/text.ts';
import { openLevels } from '../core/model/design.ts';
import { participants } from '../core/study/fold.ts';
import type { Service } from '../service/start-service.ts';
import { cliActor } from './options.ts';
import { note, result } from './output.ts';

export async function issueFirstKey({ log, address }: Service): Promise<void> {
  if (log.keys.list().length > 0) {
    note(`serving at ${address} (documentation: ${address}/docs); for another API key: urn keys add USER`);
    return;
  }
  const issued = await log.keys.issue({ user: 'admin', scopes: ['read', 'randomize'] }, cliActor());
  if ('refused' in issued) throw new Error(issued.refused);
  const { apiKey } = issued;
  // What is needed now comes last, where a terminal shows it.
  const lines = [
    ...firstCheckpoints(log),
    `Verifier key of this log: ${log.identity.signingKey.publicKey}`,
    '                       (archive it with the checkpoints, and give it to auditors: urn verify --trust)',
    'More keys:             urn keys add USER',
    'A key for an auditor:  urn keys add USER --scope read,audit',
    '                       (shows generator states, from which the next arm can be computed: for someone who does not enrol)',
    '',
    `The service is ready at ${address}; its documentation is at ${address}/docs`,
    `For its pages, open ${address} in a browser on this machine and paste the key below.`,
    '',
    'API key for the user "admin" (read,randomize). It is shown only now and cannot be shown again:',
    '',
    `  ${apiKey}`,
    '',
    ...tryIt(log, address, apiKey),
  ];
  result(lines.join('\n'));
}

/** For the studies that have no participants yet. */
function firstCheckpoints({ studies, ledger }: Service['log']): string[] {
  return studies
    .list()
    .filter(({ stream }) => ledger.tree(stream).size === 1 && ledger.maySign(stream))
    .flatMap(({ stream, registered }) => [
      `First checkpoint of the study "${registered.configuration.name}". Archive it outside this machine before the first`,
      'participant: it proves the configuration that was registered (urn studies show prints it again).',
      '',
      ledger.checkpoint(stream, 1).note,
    ]);
}

/** A curl command that works as printed, for the first study that takes any id and whose names can be printed. */
function tryIt(log: Service['log'], address: string, apiKey: string): string[] {
  const study = log.studies.list().find(({ design: { idPattern, ...names } }) => {
    return idPattern === undefined && isPrintable(JSON.stringify(names));
  });
  if (!study) return [];
  const { name, factors } = study.design;
  const taken = log.runner.state(participants, study.stream);
  let number = 1;
  while (taken.find(id(number))) number++;
  const parameters = [
    ['study', name],
    ['id', id(number)],
    ...factors.map((factor) => [factor.name, openLevels(factor)[0] ?? '']),
    // curl encodes only what follows the "=".
  ].map(([key = '', value]) => `--data-urlencode ${quoted(`${encodeURIComponent(key)}=${value}`)}`);
  return [
    'Randomize a first participant:',
    '',
    `  curl -X POST -G ${quoted(`${address}/study_participants`)} -H ${quoted(`X-API-Key: ${apiKey}`)} ${parameters.join(' ')}`,
    '',
  ];
}

function isPrintable(text: string): boolean {
  return printable(text) === text;
}

function id(number: number): string {
  return String(number).padStart(3, '0');
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
