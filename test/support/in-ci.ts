/** Whether this is CI, where a missing component is a failure instead of a test that is left out. */
export const inCi = !['', '0', 'false', undefined].includes(process.env['CI']);
