/** The studies for the tests of the HTTP contract. */

/** 2^128 + 1: an integer that a double cannot hold, and not a weak seed. */
export const SLEEP_SEED = '340282366920938463463374607431768211457';

export const TRIALS = `
Sleep:
  starting_seed: ${SLEEP_SEED}
  mode: test
  treatments: [ZZTREATA, ZZTREATB]
  factors:
    sex: [Male, Female]
    local_site: ["11-Cook County – Chicago", "30-Dupage County", "45-Kane (3+)"]

Ward:
  mode: test
  treatments: [Left, Right]
  factors:
    ward: [a, b]

Patterned:
  mode: test
  id_pattern: "[0-9]{3}-[0-9]{4}|X"
  treatments: [Left, Right]
  factors:
    ward: [a, b]

# Names that objects of JavaScript would reorder, or confuse with their own.
Ordered:
  mode: test
  treatments: ["10", "9", "__proto__"]
  factors:
    "10": ["2", "1", "10"]
    "9": [z, a]
    "__proto__": [constructor, "__proto__"]
    "Größe – 尺寸 😀": ["≥ 2 (a+b)&c=d", "100 %"]
    "1": [only]

# The second level has é as one code point, the third as e with an accent.
Exact:
  mode: test
  treatments: [Left, Right]
  factors:
    answer: ["Yes", "caf\\u00e9", "cafe\\u0301", "no "]
`;

export const COOK = { local_site: '11-Cook County – Chicago', sex: 'Male' } as const;
export const DUPAGE = { local_site: '30-Dupage County', sex: 'Female' } as const;
export const KANE = { local_site: '45-Kane (3+)', sex: 'Male' } as const;
