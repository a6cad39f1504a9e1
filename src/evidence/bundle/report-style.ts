/** The style of the report. */
import { STYLE } from '../../base/html/page.ts';

export const REPORT_STYLE = `${STYLE}
table.counts { width: auto; min-width: 60%; }
table.counts th:not(:first-child) { text-align: right; }
table.events, table.events th { font-size: 8pt; }
table.events th, table.events td { padding: 0.9mm 1.2mm; }
/* Words are not broken while there is room. */
table.events td { min-width: min(18mm, calc(180mm / var(--columns) - 2.5mm)); }
table.events td:nth-child(2) { min-width: 19mm; }
table.events td:last-child { min-width: 21mm; }
table.events td.number { min-width: 0; }
.key span { margin-right: 5mm; white-space: nowrap; }
.key i { display: inline-block; width: 3.2mm; height: 3.2mm; margin-right: 1.2mm; vertical-align: -0.4mm; }
`;
