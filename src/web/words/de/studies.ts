export const studies = {
  title: 'Studien',
  none: 'Dieser Schlüssel darf keine Studie sehen. Fragen Sie die Person, die ihn ausgestellt hat.',
  since: 'seit',
  lastAllocation: 'letzte Zuteilung',
  noAllocation: 'noch niemand randomisiert',
} as const;
