/** README.txt of a bundle: what is in it, for whom it is, and how to verify it. */
import type { Content } from '../../events/content.ts';

const FOR_WHOM: Record<Content, string> = {
  full: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds every treatment, and seed and states of the random generator, from
which every later assignment can be computed: keep it from whoever enrols or assesses participants.`,
  open: `THIS BUNDLE IS UNBLINDING MATERIAL. It holds the treatment of every participant. It holds no state of the random
generator, so its draws cannot be replayed.`,
  blinded: `This bundle holds no participant's treatment and no state of the random generator, so its draws cannot be
replayed. The names of the treatments stand in the configuration that was registered.`,
};

export function readme(content: Content, verifierSha256: string): string {
  return `A bundle of one randomized study (content: ${content})

${FOR_WHOM[content]}

report.html        to read and to print
configuration.json the study as it was registered
records/*.txt      the records of three streams: leaf hash, record, sealed sections; a tab between, a line for each
checkpoints.txt    signed checkpoints (C2SP tlog-checkpoint): one for each stream, and those that were put in
public-key.txt     the log's key, as its first record says (C2SP signed-note)
manifest.json      SHA-256 of every file
verify_bundle.py   the verifier: one file of plain Python, to be read before it is run

To verify, with python3 and numpy (and the package cryptography, for signatures):

    python3 verify_bundle.py BUNDLE.zip --trust KEY --checkpoint FILE

KEY is the log's public key and FILE holds checkpoints, both had from elsewhere: a key or a checkpoint that comes along
with a bundle vouches for nobody. So does a verifier: take it from the software's release, or compare its SHA-256
with the one in the CHANGELOG of the release that you trust. The one in this bundle has

    ${verifierSha256}
`;
}
