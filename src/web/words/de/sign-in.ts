export const signIn = {
  title: 'Anmelden',
  key: 'API-Schlüssel',
  keyHint:
    'Fügen Sie ihn ein, oder lassen Sie ihn vom Passwortmanager ausfüllen. Er wird einmal gesendet und nicht in diesem Browser gespeichert.',
  acting: 'Wer handelt?',
  actingHint:
    'Wird zusammen mit dem Inhaber des Schlüssels bei allem vermerkt, was Sie tun. Wer nach Ihnen handelt, meldet sich neu an.',
  submit: 'Anmelden',
  idle: 'Nach 30 Minuten ohne Aktivität werden Sie abgemeldet.',
  ended: 'Ihre Sitzung ist beendet. Melden Sie sich wieder an, um fortzufahren.',
  'signed-out': 'Sie sind abgemeldet.',
  'only-here':
    'Sie sind in diesem Browser abgemeldet. Das konnte nicht aufgezeichnet werden. Ist dieser Rechner nicht sicher, lassen Sie den Schlüssel vom Betreiber sperren.',
} as const;
