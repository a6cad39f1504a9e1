/** Where the study of a test comes from: the log, or a bundle. */
import { type Content, isIncluded } from '../../events/record.ts';
import type { Projection } from '../../projections/runner.ts';
import { isMoveEvent } from '../../projections/runner.ts';
import { MerkleTree } from '../core/log/merkle-tree.ts';
import { BundleFiles } from '../evidence/bundle/bundle-files.ts';
import { foldUntil } from '../evidence/history/history.ts';
import { decodePartial } from '../evidence/verify/source.ts';
import { BundleSource } from '../evidence/verify/verify-bundle.ts';
import type { OpenLog } from '../service/open/open-log.ts';
import { type PastStudy, PastStudyFold } from '../statistics/rerandomize/past-study.ts';
import { TestError } from '../statistics/rerandomize/test-plan.ts';

export interface SourcedStudy {
  readonly study: PastStudy;
  /** Revision of the last record. */
  readonly revision: number;
  /** Root hash of the study's stream up to there, in base64, as in a checkpoint of this size. */
  readonly root: string;
  /** Which sections a bundle includes; undefined for a log. */
  readonly content: Content | undefined;
}

const pastStudy: Projection<PastStudyFold> = {
  name: 'past-study',
  stream: 'study',
  initial: () => new PastStudyFold(),
  apply(fold, event) {
    fold.take(event);
    return fold;
  },
};

/** @returns undefined if there is no such study */
export async function studyInLog(
  { store, identity, studies, ledger, read }: OpenLog,
  name: string,
  onProgress: (records: number) => void,
): Promise<SourcedStudy | undefined> {
  const stream = studies.streamOf(name);
  const source = { store, logId: identity.logId };
  const { states, revision } = await foldUntil(source, stream, { pastStudy }, () => false, onProgress);
  const study = states.pastStudy.result();
  if (!study) return undefined;
  await read(stream);
  const root = ledger.tree(stream).root(revision + 1);
  return { study, revision, root: root.toString('base64'), content: undefined };
}

/** @throws BundleError; TestError when a record is wrong, or arms are withheld */
export async function studyInBundle(file: string): Promise<SourcedStudy> {
  const files = await BundleFiles.open(file);
  try {
    const source = new BundleSource(files);
    const { content } = source;
    if (content === 'blinded')
      throw new TestError(`${file} is a blinded bundle: it holds no arms (hint: urn bundle --content open)`);
    const stream = files.manifest.study.stream;
    const fold = new PastStudyFold();
    const tree = new MerkleTree();
    for await (const page of source.read(stream))
      for (const record of page) {
        const decoded = decodePartial(record, (section) => isIncluded(section, content));
        if ('mismatch' in decoded)
          throw new TestError(
            `record ${record.revision} of ${file} is not what it should be: ${decoded.mismatch.field} ${decoded.mismatch.why} (hint: urn verify --bundle)`,
          );
        tree.append(decoded.leaf);
        if (!isMoveEvent(decoded.event)) fold.take(decoded.event);
      }
    const study = fold.result();
    if (!study) throw new TestError(`${file} holds no study`);
    const { name } = study.design.method;
    if (content === 'open' && (name === 'blocks' || name === 'minimization'))
      throw new TestError(
        `${file} cannot be used: content open has no parameters of the method (hint: urn bundle --content full)`,
      );
    return { study, revision: tree.size - 1, root: tree.root().toString('base64'), content };
  } finally {
    await files.close();
  }
}
