/** How much one record of a list may hold, of packs or of allocations. A longer file makes several lists. */

export const MAX_ENTRIES = 4000;
/** Of the entries, as JSON in UTF-8. */
export const MAX_ENTRY_BYTES = 200_000;
