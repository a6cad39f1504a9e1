/** The keys, notes and checkpoints of test/vectors/signed-notes.json, which says where each comes from. */
import published from '../vectors/signed-notes.json' with { type: 'json' };

export const { peter, enoch, plusInKey, witnessKey, notes, checkpoints } = published;
