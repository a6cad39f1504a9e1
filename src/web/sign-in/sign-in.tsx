/** The form that everybody sees first. The key is sent once and kept nowhere in the browser. */
import { useMutation } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { Button } from 'react-aria-components/Button';
import { FieldError } from 'react-aria-components/FieldError';
import { Form } from 'react-aria-components/Form';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { Text } from 'react-aria-components/Text';
import { TextField } from 'react-aria-components/TextField';
import { useTranslation } from 'react-i18next';
import { Page } from '../parts/page.tsx';
import { ProblemNotice } from '../parts/problem.tsx';
import { useSessionContext } from '../session/session.tsx';

export function SignIn({ why }: { why: 'not-yet' | 'ended' | 'signed-out' | 'only-here' }) {
  const { t } = useTranslation();
  const { signIn } = useSessionContext();
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ key, person }: { key: string; person: string }) => signIn(key, person),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    // Keyboards and clipboards differ in how they compose a letter; the service takes one way only.
    mutate({ key: text('key'), person: text('acting').normalize('NFC') });
  };
  return (
    <main className="sign-in">
      <Page title={t('signIn.title')} width="narrow">
        {why !== 'not-yet' && (
          <p className={why === 'only-here' ? 'notice warn' : 'notice'} role="status">
            {t(`signIn.${why}`)}
          </p>
        )}
        <Form className="card" onSubmit={submit}>
          <ProblemNotice error={error} />
          {/* Password managers fill in a name and a password; the name is the address of the service. */}
          <TextField name="key" type="password" autoComplete="current-password" isRequired>
            <Label>{t('signIn.key')}</Label>
            <Input spellCheck={false} autoCapitalize="none" />
            <Text slot="description">{t('signIn.keyHint')}</Text>
            <FieldError />
          </TextField>
          <TextField name="acting" autoComplete="name" maxLength={128}>
            <Label>
              {t('signIn.acting')} <small>{t('common.optional')}</small>
            </Label>
            <Input />
            <Text slot="description">{t('signIn.actingHint')}</Text>
          </TextField>
          <Button type="submit" className="button go" isPending={isPending}>
            {t('signIn.submit')}
          </Button>
        </Form>
        <p className="soft">{t('signIn.idle')}</p>
      </Page>
    </main>
  );
}
