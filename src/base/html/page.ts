/** HTML pages in a file of their own, from text that people typed: escaping, tables, and the style. */
import { printable } from '../text.ts';

const HTML_ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML. All text typed by people must pass through it. Invisible characters are made visible. */
export function escapeHtml(text: string | number): string {
  return printable(String(text)).replaceAll(/[&<>"']/g, (character) => HTML_ESCAPES[character] ?? '');
}

/** A table. An empty `head` gives no header row. Cells are HTML. Numbers are aligned right. */
export function htmlTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  className = '',
): string {
  const cell = (text: string | number) =>
    typeof text === 'number' ? `<td class="number">${text}</td>` : `<td>${text}</td>`;
  const heads = head.map((text) => `<th>${text}</th>`).join('');
  return `<table class="${className}">${heads && `<thead><tr>${heads}</tr></thead>`}
<tbody>
${rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('\n')}
</tbody></table>`;
}

/** The style of pages in a file of their own, for the screen and for A4 or Letter paper. */
export const STYLE = `
@page { size: A4; margin: 18mm 16mm; }
:root { --page: #fff; --text: #1b1f24; --soft: #555; --line: #ccd3da; --edge: #58626c; --head: #1f4e79; --danger: #a23b5b; }
* { box-sizing: border-box; }
body { font: 10.5pt/1.45 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: var(--text);
  background: var(--page); max-width: 190mm; margin: 10mm auto; padding: 0 6mm; }
h1 { font-size: 21pt; line-height: 1.15; margin: 0 0 1mm; overflow-wrap: anywhere; }
h2 { font-size: 13pt; margin: 9mm 0 2mm; padding-bottom: 1mm; border-bottom: 0.4mm solid var(--head); break-after: avoid; }
h3 { font-size: 11pt; margin: 5mm 0 1mm; break-after: avoid; }
p { margin: 0 0 2mm; }
.lead { color: var(--soft); margin-bottom: 4mm; }
.warning { border: 0.5mm solid var(--danger); padding: 2.5mm 4mm; margin: 4mm 0; break-inside: avoid; }
.plain { border: 0.3mm solid var(--edge); padding: 2.5mm 4mm; margin: 4mm 0; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; margin: 1mm 0 3mm; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.9mm 2mm; border-bottom: 0.2mm solid var(--line);
  overflow-wrap: anywhere; }
th { font-size: 9pt; border-bottom: 0.4mm solid var(--edge); overflow-wrap: break-word; }
td.number { text-align: right; }
table.facts td:first-child { width: 46mm; color: var(--soft); }
thead { display: table-header-group; }
tr, svg, figure { break-inside: avoid; }
figure { margin: 2mm 0 4mm; }
svg { width: 100%; height: auto; display: block; }
svg text { font-family: "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }
svg rect, .key i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
code { font: 8.5pt "DejaVu Sans Mono", Consolas, monospace; overflow-wrap: anywhere; }
@media print { body { margin: 0; padding: 0; max-width: none; } }
`;
