export const packs = {
  title: 'Packungen',
  enrolment: 'Einschluss',
  none: 'Noch keine Packung.',
  allVisits: 'Für jede Visite der Studie gibt es eine Packung.',
  visit: 'Visite',
  otherVisit: 'eine andere Visite',
  otherVisitName: 'Name der Visite',
  otherVisitHint: 'Eine Visite, die die Studie nicht hat, wird beim Prüfen der Studie vermerkt.',
  go: 'Packung an {{id}} ausgeben',
  done: 'Packung ausgegeben',
  handOut: '{{id}} bekommt für {{visit}} diese Packung:',
  at: 'Ausgegeben',
  print: 'Zeile für die Akte drucken',
  whichReplaced: 'Welche Packung wird ersetzt?',
  whichCorrected: 'Welche Packung?',
  notTheirs: '{{code}} (laut Eintrag nie ausgehändigt)',
  rightVisit: 'Für welche Visite war sie?',
  never: 'für keine: sie wurde nie ausgehändigt',
  effect: {
    dispense:
      '{{id}} bekommt eine Packung für {{visit}}. Die nächste Seite zeigt ihre Nummer. Keine Packung wird zweimal ausgegeben; das lässt sich also nicht zurücknehmen.',
    undeclared: 'Die Visite {{visit}} gibt es in der Studie nicht.',
    moved: 'Die Packung {{code}} zählt von jetzt an für {{to}}.',
    taken:
      '{{id}} hat die Packung {{code}} nie bekommen. Ihre Visite kann eine andere bekommen. {{code}} bekommt niemand mehr.',
  },
  refused: {
    itIs: 'Die Packung für {{visit}} ist {{code}}.',
    duplicate: {
      what: 'Für diese Visite gibt es schon eine Packung',
      next: 'Es wurde nichts erfasst. Ist sie beschädigt oder verloren, ersetzen Sie sie. Wurde sie nie ausgehändigt, lassen Sie das berichtigen.',
    },
    stale: {
      what: 'Dieser Teilnehmer bekommt keine Packungen',
      next: 'Der Teilnehmer ist annulliert: zweimal randomisiert, nie eingeschlossen oder falsch eingetragen. Ist das ein Irrtum, lassen Sie es berichtigen.',
    },
    'no-code': {
      what: 'Es sind nicht genug Packungen da',
      next: 'Es wurde nichts erfasst. Wenden Sie sich an die Stelle, die die Packungen liefert.',
    },
    importing: {
      what: 'Frühere Teilnehmer werden übernommen',
      next: 'Es wurde nichts erfasst. Versuchen Sie es noch einmal, wenn das fertig ist.',
    },
    further: {
      what: 'Dieser Teilnehmer hatte zu viele weitere Packungen',
      next: 'Es wurde nichts erfasst. Bitten Sie die Stelle, die die Packungen liefert, diese auszugeben.',
    },
  },
} as const;
