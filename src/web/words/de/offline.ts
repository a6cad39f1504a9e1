export const offline = {
  link: 'Beleg prüfen',
  title: 'Beleg oder Kontrollpunkt prüfen',
  about:
    'Ein Beleg ist ein Kontrollpunkt: eine signierte Aussage darüber, wie viele Aufzeichnungen eine Studie hatte und welche. Legen Sie die Dateien ab, die Sie aufbewahrt haben, und die Beweise dazu, und sehen Sie, was sie abdecken.',
  nothingSent: 'Alles wird in diesem Browser geprüft. Nichts wird gesendet, und nichts wird aufbewahrt.',
  needsHttps: 'Diese Seite braucht HTTPS, denn nur dann prüft der Browser Signaturen.',
  key: 'Prüfschlüssel',
  keyHint:
    'Er lautet Name+8 Ziffern+Buchstaben. Nehmen Sie ihn nicht von diesem Dienst, sondern zum Beispiel aus dem Studienordner. Ein Schlüssel, der mit dem Beleg kommt, bürgt für niemanden.',
  keyWrong: 'Das ist kein Prüfschlüssel, oder er ist beschädigt.',
  drop: 'Belege, Kontrollpunkte und Beweise hier ablegen',
  choose: 'Dateien wählen',
  unreadable: '{{name}} ist nicht lesbar',
  bundleHint:
    'Ein Paket verifizieren Sie mit dem Programm verify_bundle.py. Es liegt dem Paket bei; nehmen Sie es aber aus einer anderen Quelle.',
  signature: {
    right: 'von diesem Schlüssel signiert',
    wrong: 'Signatur ist falsch',
    'of-another-key': 'von einem anderen Schlüssel signiert',
    'not-checked': 'Signatur nicht geprüft: Prüfschlüssel einfügen',
  },
  several: '{{count}} Belege und Kontrollpunkte',
  named_one: '{{where}} ({{count}} Aufzeichnung)',
  named_other: '{{where}} ({{count}} Aufzeichnungen)',
  more: '{{count}} weitere',
  speaks_one: 'Er spricht von der ersten Aufzeichnung einer Studie.',
  speaks_other: 'Er spricht von den ersten {{count}} Aufzeichnungen einer Studie.',
  covers_one: 'Er deckt die erste Aufzeichnung der Studie ab. Niemand kann sie unbemerkt ändern.',
  covers_other:
    'Er deckt die ersten {{count}} Aufzeichnungen der Studie ab. Niemand kann eine davon unbemerkt ändern.',
  largest: {
    speaks_one: 'Sie sprechen von der ersten Aufzeichnung einer Studie.',
    speaks_other: 'Der größte spricht von den ersten {{count}} Aufzeichnungen einer Studie.',
    covers_one: 'Sie decken die erste Aufzeichnung der Studie ab. Niemand kann sie unbemerkt ändern.',
    covers_other:
      'Der größte deckt die ersten {{count}} Aufzeichnungen der Studie ab. Niemand kann eine davon unbemerkt ändern.',
  },
  agree: 'Sie stimmen überein: Was jeder von seinen Aufzeichnungen sagt, sagt auch der nächstgrößere.',
  agreeing: '{{count}} von {{compared}} stimmen mit dem nächstgrößeren überein.',
  unproven:
    'Ob {{one}} mit {{other}} übereinstimmt, ist nicht gezeigt: Fügen Sie den Beweis hinzu, den ein Prüfer auf der Seite Prüfen speichern kann.',
  contradiction:
    '{{one}} widerspricht {{other}}, das über dieselben Aufzeichnungen etwas anderes sagt. Bewahren Sie beide Dateien auf und benachrichtigen Sie die Person, die die Studie überwacht.',
  record: {
    included_one: 'Die Aufzeichnung der Revision {{revision}} ist die einzige des Kontrollpunkts.',
    included_other:
      'Die Aufzeichnung der Revision {{revision}} ist unter den {{count}} Aufzeichnungen des Kontrollpunkts.',
    'not-included_one':
      'Der Beweis zeigt nicht, dass Revision {{revision}} die einzige Aufzeichnung eines Kontrollpunkts hier ist.',
    'not-included_other':
      'Der Beweis zeigt nicht, dass Revision {{revision}} unter den {{count}} Aufzeichnungen eines Kontrollpunkts hier ist.',
    'no-checkpoint_one':
      'Es gibt einen Beweis zu Revision {{revision}}, aber keinen Kontrollpunkt mit {{count}} Aufzeichnung zum Vergleich.',
    'no-checkpoint_other':
      'Es gibt einen Beweis zu Revision {{revision}}, aber keinen Kontrollpunkt mit {{count}} Aufzeichnungen zum Vergleich.',
  },
} as const;
