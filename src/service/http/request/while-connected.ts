import type { Request } from 'express';

/** @param run receives a signal that is aborted when the client disconnects */
export async function whileConnected<T>(
  { socket }: Request,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (socket.destroyed) abort();
  socket.once('close', abort);
  try {
    return await run(controller.signal);
  } finally {
    socket.off('close', abort);
  }
}
