/** Makes HTML from text that people typed. */
import { printable } from '../text.ts';

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML. All text typed by people must pass through it. Invisible characters are made visible. */
export function escapeHtml(text: string | number): string {
  return printable(String(text)).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
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
