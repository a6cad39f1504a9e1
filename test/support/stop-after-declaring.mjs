/**
 * Loaded into `urn recover` with NODE_OPTIONS=--import=<this file>: kills the process when it is about to append to a
 * study, which comes after the recovery was declared in the stream `log`.
 */
import process from 'node:process';
import { Worker } from 'node:worker_threads';

const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function post(message, ...rest) {
  const isOfStudy = [message].flat().some((request) => request?.stream?.startsWith('study-'));
  if (isOfStudy) process.kill(process.pid, 'SIGKILL');
  else postMessage.call(this, message, ...rest);
};
