/** A chart as text for a page of its own. React and the charts are large: import this only when a page is written. */
import type { ReactElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';

export function svgOf(chart: ReactElement): string {
  return renderToStaticMarkup(chart);
}
