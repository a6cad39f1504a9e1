/** The style of the report, for the screen and for A4 or Letter paper. */
export const STYLE = `
@page { size: A4; margin: 18mm 16mm; }
* { box-sizing: border-box; }
body { font: 10.5pt/1.45 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #1b1f24; max-width: 190mm;
  margin: 10mm auto; padding: 0 6mm; }
h1 { font-size: 21pt; line-height: 1.15; margin: 0 0 1mm; overflow-wrap: anywhere; }
h2 { font-size: 13pt; margin: 9mm 0 2mm; padding-bottom: 1mm; border-bottom: 0.4mm solid #1f4e79; break-after: avoid; }
h3 { font-size: 11pt; margin: 5mm 0 1mm; break-after: avoid; }
p { margin: 0 0 2mm; }
.lead { color: #555; margin-bottom: 4mm; }
.warning { border: 0.5mm solid #a23b5b; padding: 2.5mm 4mm; margin: 4mm 0; break-inside: avoid; }
.plain { border: 0.3mm solid #9aa4ae; padding: 2.5mm 4mm; margin: 4mm 0; break-inside: avoid; }
table { border-collapse: collapse; width: 100%; margin: 1mm 0 3mm; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.9mm 2mm; border-bottom: 0.2mm solid #ccd3da;
  overflow-wrap: anywhere; }
th { font-size: 9pt; border-bottom: 0.4mm solid #58626c; overflow-wrap: break-word; }
td.number { text-align: right; }
table.counts { width: auto; min-width: 60%; }
table.counts th:not(:first-child) { text-align: right; }
table.facts td:first-child { width: 46mm; color: #555; }
table.events, table.events th { font-size: 8pt; }
table.events th, table.events td { padding: 0.9mm 1.2mm; }
/* Words are not broken while there is room. */
table.events td { min-width: min(18mm, calc(180mm / var(--columns) - 2.5mm)); }
table.events td:nth-child(2) { min-width: 19mm; }
table.events td:last-child { min-width: 21mm; }
table.events td.number { min-width: 0; }
thead { display: table-header-group; }
tr, svg, figure { break-inside: avoid; }
figure { margin: 2mm 0 4mm; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11px "Helvetica Neue", Arial, "Liberation Sans", sans-serif; fill: #333; }
svg text.inside { fill: #fff; font-weight: bold; }
svg .grid { stroke: #dde2e7; }
svg .target { stroke: #a23b5b; stroke-dasharray: 5 4; }
svg .stair { fill: none; stroke: #1f4e79; stroke-width: 2; }
svg rect, .key i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.key span { margin-right: 5mm; white-space: nowrap; }
.key i { display: inline-block; width: 3.2mm; height: 3.2mm; margin-right: 1.2mm; vertical-align: -0.4mm; }
code { font: 8.5pt "DejaVu Sans Mono", Consolas, monospace; overflow-wrap: anywhere; }
@media print { body { margin: 0; padding: 0; max-width: none; } }
`;
