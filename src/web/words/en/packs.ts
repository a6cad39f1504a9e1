export const packs = {
  title: 'Packs',
  enrolment: 'Enrolment',
  none: 'No pack yet.',
  allVisits: 'There is a pack for every visit of the study.',
  visit: 'Visit',
  otherVisit: 'another visit',
  otherVisitName: 'Name of the visit',
  otherVisitHint: 'A visit that the study does not have is marked when the study is verified.',
  go: 'Give {{id}} a pack',
  done: 'Pack given out',
  handOut: '{{id}} gets this pack for {{visit}}:',
  at: 'Given out',
  print: 'Print a line for the file',
  whichReplaced: 'Which pack is replaced?',
  whichCorrected: 'Which pack?',
  notTheirs: '{{code}} (recorded as never handed out)',
  rightVisit: 'For which visit was it?',
  never: 'for none: they never got this pack',
  effect: {
    dispense:
      '{{id}} gets a pack for {{visit}}. The next page shows its number. No pack is given out twice, so this cannot be undone.',
    undeclared: 'The study does not have the visit {{visit}}.',
    moved: 'The pack {{code}} counts for {{to}} from now on.',
    taken:
      '{{id}} never got the pack {{code}}. Its visit can get another one. Nobody is given {{code}} any more.',
  },
  refused: {
    itIs: 'The pack for {{visit}} is {{code}}.',
    duplicate: {
      what: 'There is a pack for this visit already',
      next: 'Nothing was recorded. If it is damaged or lost, replace it. If it was never handed out, have that corrected.',
    },
    stale: {
      what: 'This participant gets no packs',
      next: 'The participant is void: randomized twice, never enrolled, or a wrong entry. If that is a mistake, have it corrected.',
    },
    'no-code': {
      what: 'There are not enough packs left',
      next: 'Nothing was recorded. Ask whoever supplies packs.',
    },
    importing: {
      what: 'Earlier participants are being imported',
      next: 'Nothing was recorded. Try again when that is finished.',
    },
    further: {
      what: 'This participant had too many further packs',
      next: 'Nothing was recorded. Ask whoever supplies packs to give out this one.',
    },
  },
} as const;
