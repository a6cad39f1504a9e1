export const offline = {
  link: 'Check a receipt',
  title: 'Check a receipt or checkpoint',
  about:
    'A receipt is a checkpoint: a signed statement of how many records a study had, and what they were. Drop the files that you have kept, and the proofs that go with them, and see what they cover.',
  nothingSent: 'Everything is checked in this browser. Nothing is sent anywhere, and nothing is kept.',
  needsHttps: 'This page needs HTTPS, because only then does the browser check signatures.',
  key: 'Verifier key',
  keyHint:
    'It reads name+8 digits+letters. Get it from somewhere other than this service, for example from the study file. A key that comes with the receipt proves nothing.',
  keyWrong: 'This is not a verifier key, or it is damaged.',
  drop: 'Drop receipts, checkpoints and proofs here',
  choose: 'Choose files',
  unreadable: '{{name}} cannot be read',
  bundleHint:
    'A bundle is verified by the program verify_bundle.py. A copy is in the bundle, but get it from elsewhere.',
  signature: {
    right: 'signed by this key',
    wrong: 'signature is wrong',
    'of-another-key': 'signed by another key',
    'not-checked': 'signature not checked: paste the verifier key',
  },
  several: '{{count}} receipts and checkpoints',
  named_one: '{{where}} ({{count}} record)',
  named_other: '{{where}} ({{count}} records)',
  more: '{{count}} more',
  speaks_one: 'It is about the first record of a study.',
  speaks_other: 'It is about the first {{count}} records of a study.',
  covers_one: 'It covers the first record of the study. Nobody can change it unnoticed.',
  covers_other:
    'It covers the first {{count}} records of the study. Nobody can change one of them unnoticed.',
  largest: {
    speaks_one: 'They are about the first record of a study.',
    speaks_other: 'The largest is about the first {{count}} records of a study.',
    covers_one: 'They cover the first record of the study. Nobody can change it unnoticed.',
    covers_other:
      'The largest covers the first {{count}} records of the study. Nobody can change one of them unnoticed.',
  },
  agree: 'They agree: what each says of its records, the next larger one says, too.',
  agreeing: '{{count}} of {{compared}} agree with the next larger one.',
  unproven:
    'Whether {{one}} agrees with {{other}} is not shown: add the proof, which an auditor can save on the page Audit.',
  contradiction:
    '{{one}} contradicts {{other}}, which says something else about the same records. Keep both files and tell the people who oversee the trial.',
  record: {
    included_one: 'The record of revision {{revision}} is the only one of the checkpoint.',
    included_other: 'The record of revision {{revision}} is among the {{count}} records of the checkpoint.',
    'not-included_one':
      'The proof does not show that revision {{revision}} is the only record of a checkpoint here.',
    'not-included_other':
      'The proof does not show that revision {{revision}} is among the {{count}} records of a checkpoint here.',
    'no-checkpoint_one':
      'There is a proof about revision {{revision}}, but no checkpoint of {{count}} record to compare it with.',
    'no-checkpoint_other':
      'There is a proof about revision {{revision}}, but no checkpoint of {{count}} records to compare it with.',
  },
} as const;
