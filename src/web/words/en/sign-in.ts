export const signIn = {
  title: 'Sign in',
  key: 'API key',
  keyHint: 'Paste it, or let your password manager fill it in. It is sent once and not kept in this browser.',
  acting: 'Who is acting?',
  actingHint:
    'Recorded with everything you do, along with the owner of the key. Another person signs in again.',
  submit: 'Sign in',
  idle: 'You are signed out after 30 minutes without activity.',
  ended: 'Your session has ended. Sign in again to continue.',
  'signed-out': 'You are signed out.',
  'only-here':
    'You are signed out in this browser. It could not be recorded, so tell your operator to revoke the key if this computer is not safe.',
} as const;
