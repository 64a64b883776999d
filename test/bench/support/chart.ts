/** One line of a panel: what an entrant measured at each size. */
export interface Series {
  name: string;
  /** Sizes with milliseconds of one operation. */
  points: [size: number, ms: number][];
}

export interface Panel {
  title: string;
  series: Series[];
}

const PANEL = { width: 300, height: 300, left: 72, gap: 20, top: 84 } as const;
const LEGEND_ROW = 20;
/** Okabe and Ito's colours, which most people with a colour deficiency can tell apart. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#777777'];

/**
 * Draws milliseconds of one operation against the number of items, in panels side by side, both axes
 * logarithmic. The first series is drawn thicker. Returns an SVG.
 */
export function drawCostChart(
  panels: readonly Panel[],
  { title, subtitle }: { title: string; subtitle: string },
): string {
  const names = [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))];
  const points = panels.flatMap(({ series }) => series.flatMap((one) => one.points));
  const sizes = [...new Set(points.map(([size]) => size))].sort((a, b) => a - b);
  const powers = points.map(([, ms]) => Math.log10(ms));
  const [low, high] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
  const width = PANEL.left + panels.length * (PANEL.width + PANEL.gap);
  const bottom = PANEL.top + PANEL.height;
  const legendRows = Math.ceil(names.length / 3);
  const height = bottom + 68 + legendRows * LEGEND_ROW;
  const colourOf = (name: string): string => COLOURS[names.indexOf(name) % COLOURS.length] ?? '';

  const toX = (size: number): number => {
    const [first = 1, last = 1] = [sizes[0], sizes.at(-1)];
    const share = first === last ? 0.5 : Math.log(size / first) / Math.log(last / first);
    return 24 + share * (PANEL.width - 48);
  };
  const toY = (ms: number): number =>
    PANEL.top + ((high - Math.log10(ms)) / Math.max(1, high - low)) * PANEL.height;

  const drawSeries = ({ name, points: own }: Series): string => {
    const places = own.map(([size, ms]) => [round(toX(size)), round(toY(ms))] as const);
    const colour = colourOf(name);
    const line = places.map((place) => place.join(',')).join(' ');
    return [
      `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="${name === names[0] ? 3.5 : 1.75}"/>`,
      ...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}"/>`),
    ].join('\n');
  };
  const drawPanel = (panel: Panel, at: number): string => {
    const ticks = Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step));
    return [
      `<g transform="translate(${PANEL.left + at * (PANEL.width + PANEL.gap)} 0)">`,
      text(PANEL.width / 2, PANEL.top - 12, panel.title, 'middle', 'heading'),
      ...ticks.map(
        (ms) =>
          `<line class="grid" x1="0" x2="${PANEL.width}" y1="${round(toY(ms))}" y2="${round(toY(ms))}"/>`,
      ),
      ...(at === 0 ? ticks.map((ms) => text(-8, round(toY(ms)) + 4, toDuration(ms), 'end')) : []),
      ...sizes.map((size) =>
        text(round(toX(size)), bottom + 18, size.toLocaleString('en-US'), 'middle'),
      ),
      // The first one last, so that nothing covers it.
      ...[...panel.series].reverse().map(drawSeries),
      '</g>',
    ].join('\n');
  };
  const legend = names.map((name, at) => {
    const x = PANEL.left + (at % 3) * (PANEL.width + PANEL.gap);
    const y = bottom + 62 + Math.floor(at / 3) * LEGEND_ROW;
    const weight = at === 0 ? 3.5 : 1.75;
    return `<line x1="${x}" x2="${x + 20}" y1="${y - 4}" y2="${y - 4}" stroke="${colourOf(name)}" stroke-width="${weight}"/>\n${text(x + 28, y, name)}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.heading { font-weight: 600 }
.note { fill: #57606a }
.grid { stroke: #d0d7de }
.paper { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.note { fill: #9198a1 }
.grid { stroke: #3d444d }
.paper { fill: #0d1117 }
}
</style>
<rect class="paper" width="${width}" height="${height}"/>
${text(16, 26, title, 'start', 'title')}
${text(16, 46, subtitle, 'start', 'note')}
${panels.map(drawPanel).join('\n')}
${text(PANEL.left, bottom + 38, 'items in the store', 'start', 'note')}
${legend.join('\n')}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor = 'start', style = ''): string {
  const named = style === '' ? '' : ` class="${style}"`;
  return `<text${named} x="${x}" y="${y}" text-anchor="${anchor}">${escapeXml(content)}</text>`;
}

function toDuration(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toLocaleString('en-US')} s`;
  return ms >= 1 ? `${ms} ms` : `${Math.round(ms * 1_000)} µs`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeXml(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
