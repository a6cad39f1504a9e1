/**
 * Loaded into `urn relay` with NODE_OPTIONS=--import=<this file>: kills the process at a commit. DIE_AT is the number of
 * the transaction (the first says who relays), DIE_WHEN is `sent` (nothing of the commit has left), `asked` (the request
 * has), or `committed` (the broker has answered, and the relay does not know yet).
 */
import process from 'node:process';
import { Kafka } from 'kafkajs';

const at = Number(process.env.DIE_AT);
const when = process.env.DIE_WHEN;
const die = () => process.kill(process.pid, 'SIGKILL');
let transactions = 0;

const { producer: make } = Kafka.prototype;
Object.defineProperty(Kafka.prototype, 'producer', {
  value(...args) {
    const producer = make.apply(this, args);
    const transaction = async () => {
      const begun = await producer.transaction();
      if (++transactions !== at) return begun;
      const commit = async () => {
        if (when === 'sent') die();
        const committing = begun.commit();
        if (when === 'asked') setTimeout(die, 2);
        await committing;
        die();
      };
      return { ...begun, commit };
    };
    return { ...producer, transaction };
  },
});
