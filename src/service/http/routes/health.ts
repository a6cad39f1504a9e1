/** GET /healthz: the process is alive. */
import type { Request, Response } from 'express';
import { SUCCESS, send } from '../request/reply.ts';
import { probeOperation } from './probe-parts.ts';

export const healthOperation = probeOperation('Check that the process is alive', 'health');

export function getHealth(_: Request, response: Response): void {
  send(response, { status: 200, message: SUCCESS, results: '{}' });
}
