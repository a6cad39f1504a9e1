/** Logs and measures each request. The URL is never logged, because it may contain the key and data of a participant. */
import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../../monitoring/logger.ts';
import type { Metrics } from '../../monitoring/metrics.ts';
import type { Locals } from './locals.ts';

export function observe(logger: Logger, metrics: Metrics) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const locals = response.locals as Locals;
    locals.route = 'unknown';
    locals.emptyResults = '[]';
    locals.isServed = false;
    response.once('close', () => {
      const ms = (locals.answeredAt ?? performance.now()) - started;
      const method = knownMethod(request.method);
      const { route, keyId, user, study, revision } = locals;
      const status = response.statusCode;
      metrics.observeRequest(method, locals.isServed ? route : undefined, status, ms / 1000);
      const aborted = response.writableFinished ? undefined : true;
      logger.info(
        { method, route, status, ms: Math.round(ms * 100) / 100, keyId, user, study, revision, aborted },
        'request',
      );
    });
    next();
  };
}

/** A client may send any text as the method, so only known methods are recorded. */
export function knownMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
