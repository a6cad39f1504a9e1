/** The README.txt of a bundle: what it contains, who may see it, and how to verify it. */
import type { Content } from '../../../events/record.ts';

const FOR_WHOM: Record<Content, string> = {
  full: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds every treatment, and the seed and states of the random generator or the
entries of lists, from which later assignments can be computed. Keep it from everyone who enrols or assesses participants.`,
  open: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds the treatment of every participant. It holds no state of the random
generator and no entry of a list, so its draws cannot be replayed.`,
  blinded: `This bundle holds no participant's treatment and no state of the random generator or entry of a list, so its
draws cannot be replayed. The registered configuration names the treatments.`,
};

export function readme(content: Content, verifierSha256: string): string {
  return `A bundle of one randomized study (content: ${content})

${FOR_WHOM[content]}

report.html        to read and to print
configuration.json the study as it was registered, without its amendments (these are records)
records/*.txt      the records of three streams, one line each: leaf hash, record and sealed sections, separated by tabs
checkpoints.txt    signed checkpoints (C2SP tlog-checkpoint): one for each stream, and any that were added
public-key.txt     the log's public key (C2SP signed-note)
manifest.json      SHA-256 of every file
verify_bundle.py   the verifier: one file of plain Python, to read before you run it

To verify, with python3 and numpy (and the package cryptography, for signatures):

    python3 verify_bundle.py BUNDLE.zip --trust KEY --checkpoint FILE

KEY is the log's public key and FILE holds checkpoints. Get both from elsewhere: a key or a checkpoint that comes with a
bundle proves nothing. Neither does a verifier: take it from the software's release, or compare its SHA-256 with the one
in the CHANGELOG of the release that you trust. The verifier in this bundle has

    ${verifierSha256}
`;
}
