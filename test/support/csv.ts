/** Reads CSV, as other programs do. */
import { parse } from 'csv-parse/sync';

/** The cells of each line. */
export const parseCsv = (text: string): string[][] => parse(text, { relax_column_count: true }) as string[][];

/** Its rows by the names of their columns. */
export const csvRows = (text: string): Record<string, string>[] => parse(text, { columns: true });
