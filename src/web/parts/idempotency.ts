import { useCallback, useRef } from 'react';

/**
 * Gives a request its Idempotency-Key: the same one while the request is the same. Sent again after a lost answer, it
 * is recorded once.
 */
export function useIdempotencyKey(): (body: object) => string {
  const last = useRef({ body: '', key: '' });
  return useCallback((body: object) => {
    const text = JSON.stringify(body);
    if (last.current.body !== text) last.current = { body: text, key: crypto.randomUUID() };
    return last.current.key;
  }, []);
}
