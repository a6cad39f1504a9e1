import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const VERSION = (require('#package') as { version: string }).version;

/**
 * With the commit that it was built from, for `urn --version` alone: two builds of one version write the same bytes, so
 * records, bundles and results name the version.
 */
export function versionAndCommit(): string {
  return `${VERSION} (${builtFrom(readBuilt())})`;
}

/** No command ends for want of it. */
function readBuilt(): BuildStamp {
  try {
    return require('#commit') as BuildStamp;
  } catch {
    return {};
  }
}

/** As the build leaves it. */
interface BuildStamp {
  readonly commit?: string;
  readonly changed?: true;
}

function builtFrom({ commit, changed }: BuildStamp): string {
  if (commit === undefined) return 'commit not known: it was not built in a checkout of git';
  return changed ? `commit ${commit}, with changes that are in no commit` : `commit ${commit}`;
}
