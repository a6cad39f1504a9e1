/** The catalogue of words. English is complete by definition; every other language has the same keys. */
import i18next from 'i18next';
import { useCallback } from 'react';
import { initReactI18next, useTranslation } from 'react-i18next';
import { en } from './en/index.ts';

/** The languages, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
type Language = keyof typeof LANGUAGES;

const CHOSEN = 'urn.language';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'words';
    resources: { words: typeof en };
  }
}

export async function startWords(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    defaultNS: 'words',
    resources: { en: { words: en } },
    // React escapes.
    interpolation: { escapeValue: false },
  });
  await change(preferred());
}

function preferred(): Language {
  const preferences = [localStorage.getItem(CHOSEN), ...navigator.languages].map((tag) => tag?.slice(0, 2));
  return (
    (preferences.find((code) => code !== undefined && code in LANGUAGES) as Language | undefined) ?? 'en'
  );
}

async function change(language: Language): Promise<void> {
  if (language === 'de' && !i18next.hasResourceBundle('de', 'words')) {
    const loaded = await import('./de/index.ts').catch(() => undefined);
    // The pages go on in the language that they have.
    if (!loaded) return;
    i18next.addResourceBundle('de', 'words', loaded.de);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

export function useLanguage() {
  const { i18n } = useTranslation();
  const choose = useCallback((language: Language) => {
    localStorage.setItem(CHOSEN, language);
    void change(language);
  }, []);
  return { language: i18n.language as Language, choose };
}
