export type RecordFault = 'unknown-type' | 'malformed' | 'leaf-mismatch' | 'seal-mismatch' | 'misplaced';

/** A stored record is not what it claims to be. The message never quotes the record's contents. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly fault: RecordFault;
  constructor(fault: RecordFault, where: string, why: string) {
    super(`${where}: ${why}`);
    this.fault = fault;
  }
}
