export const refused = {
  malformed: { why: 'die Anfrage war nicht gültig' },
  duplicate: { why: 'der Teilnehmer war schon zugeteilt' },
  'idempotency-key-reused': { why: 'derselbe Anfrageschlüssel wurde für etwas anderes verwendet' },
  'not-permitted': { why: 'der Schlüssel erlaubte es nicht' },
  'revoked-key': { why: 'der Schlüssel war gesperrt' },
  'expired-key': { why: 'der Schlüssel war abgelaufen' },
  'own-allocation': {
    why: 'wer den Teilnehmer randomisiert hat, kann ihn nicht annullieren und eine Annullierung nicht zurücknehmen',
    what: 'Der Benutzer dieses Schlüssels hat diesen Teilnehmer randomisiert, also muss das jemand anders tun.',
    next: 'Nichts wird erfasst, und die Behandlung geht weiter. Bitten Sie eine zweite Person, die berichtigen darf.',
  },
  'not-found': { why: 'nicht vorhanden oder nicht für diesen Schlüssel' },
  paused: {
    why: 'die Studie war pausiert',
    what: 'Die Studie ist pausiert',
    next: 'Bis sie fortgesetzt wird, kann niemand randomisiert werden. Fragen Sie die Studienleitung.',
  },
  closed: {
    why: 'die Studie war geschlossen',
    what: 'Die Studie ist geschlossen',
    next: 'Sie nimmt niemanden mehr auf.',
  },
  importing: {
    why: 'eine Übernahme lief',
    what: 'Frühere Teilnehmer werden übernommen',
    next: 'Bis das fertig ist, kann hier nichts erfasst werden. Versuchen Sie es später noch einmal.',
  },
  full: {
    why: 'die Studie hatte eine Grenze erreicht',
    what: 'Die Studie ist voll',
    next: 'Niemand wurde erfasst. Fragen Sie die Studienleitung, bevor Sie dem Teilnehmer etwas sagen.',
  },
  'level-closed': {
    why: 'eine Ausprägung des Teilnehmers war geschlossen',
    what: 'Hier wird niemand mehr aufgenommen',
    next: 'Niemand wurde erfasst. Prüfen Sie Ihre Auswahl, oder fragen Sie die Studienleitung.',
  },
  'no-code': {
    why: 'zu einer Behandlung gab es keine Packung mehr',
    what: 'Es sind nicht genug Packungen da',
    next: 'Es wurde nichts erfasst. Wenden Sie sich an die Stelle, die die Packungen liefert, und versuchen Sie es noch einmal, sobald genug da sind.',
  },
  'no-entry': {
    why: 'in der Liste war für den Teilnehmer kein Eintrag frei',
    what: 'Niemand mit diesen Ausprägungen kann jetzt randomisiert werden',
    next: 'Niemand wurde erfasst. Fragen Sie die Stelle, die für die Randomisierung zuständig ist.',
  },
  stale: { why: 'jemand anders hatte es zuvor geändert' },
  suspended: {
    why: 'die Studiendatei wich vom geltenden Design ab',
    what: 'Der Dienst nimmt für diese Studie niemanden auf',
    next: 'Die Konfiguration stimmt nicht mit der registrierten überein. Sagen Sie es dem Betreiber des Dienstes.',
  },
  unavailable: { why: 'der Dienst konnte es gerade nicht tun' },
  failed: { why: 'ein unerwarteter Fehler' },
  several: { why: 'mehrere Gründe, zu viele für eine Liste' },
} as const;
