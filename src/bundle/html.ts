/** HTML of what people typed. */
import { printable } from '../base/text.ts';

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for HTML. Everything that a person typed goes through it; characters that nobody sees are shown. */
export function escapeHtml(text: string | number): string {
  return printable(String(text)).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** A table; no head: no row of heads. Cells are HTML; numbers are set to the right. */
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
