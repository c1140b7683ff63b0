// A plot of a report where one helps: bars, or points with their names.
import { type Cell, says } from "../table/rows";
import { number } from "../words";

/** What a report's header says may be drawn of its rows, by names of columns. */
export interface Chart {
  x: string;
  /** Null of bars. */
  y: string | null;
  by: string;
}

export interface Plotted {
  x: string;
  /** Null of bars. */
  y: string | null;
  points: { name: string; x: number; y: number }[];
}

const MOST_BARS = 24;

/** Columns that a chart needs. */
export const columnsOf = ({ x, y, by }: Chart) => (y === null ? [x, by] : [x, y, by]);

export function plotOf(chart: Chart | null, columns: string[], rows: Cell[][]): Plotted | null {
  if (!chart || !columnsOf(chart).every((name) => columns.includes(name))) return null;
  const { x, y, by } = chart;
  const value = (row: Cell[], name: string) => row[columns.indexOf(name)] ?? null;
  const points = rows.flatMap((row) => {
    const [across, up] = [value(row, x), y === null ? 0 : value(row, y)];
    return typeof across === "number" && typeof up === "number"
      ? [{ name: String(value(row, by)), x: across, y: up }]
      : [];
  });
  if (points.some((each) => each.x < 0 || each.y < 0)) return null;
  return points.length ? { x, y, points: y === null ? points.slice(0, MOST_BARS) : points } : null;
}

const WIDTH = 640;
const NAMES = 180;
const BAR = 22;
const HEIGHT = 320;

export function Plot({ id, plot }: { id: string; plot: Plotted }) {
  const all = plot.points.map((each) => `${each.name} ${number(each.x)}${plot.y ? `, ${number(each.y)}` : ""}`);
  const title = `${says(plot.x)}${plot.y ? ` against ${says(plot.y)}` : ""}: ${all.join("; ")}`;
  return plot.y === null ? <Bars id={id} plot={plot} title={title} /> : <Points id={id} plot={plot} title={title} />;
}

interface Drawn {
  id: string;
  plot: Plotted;
  title: string;
}

function Bars({ id, plot, title }: Drawn) {
  const most = Math.max(...plot.points.map((each) => each.x)) || 1;
  const height = 30 + BAR * plot.points.length;
  return (
    <svg id={id} class="plot" viewBox={`0 0 ${WIDTH} ${height}`} role="img">
      <title>{title}</title>
      <text class="axis" x={NAMES} y={16}>
        {says(plot.x)}
      </text>
      {plot.points.map((each, at) => {
        const width = ((WIDTH - NAMES - 90) * each.x) / most;
        return (
          <g key={each.name + at}>
            <text class="end" x={NAMES - 8} y={40 + BAR * at}>
              {each.name}
            </text>
            <rect class="bar" x={NAMES} y={27 + BAR * at} width={width} height={BAR - 5} />
            <text x={NAMES + width + 6} y={40 + BAR * at}>
              {number(each.x)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

function Points({ id, plot, title }: Drawn) {
  const [left, bottom] = [60, HEIGHT - 40];
  const most = (of: "x" | "y") => 1.15 * Math.max(...plot.points.map((each) => each[of])) || 1;
  const [mx, my] = [most("x"), most("y")];
  const x = (value: number) => left + ((WIDTH - left - 40) * value) / mx;
  const y = (value: number) => bottom - ((bottom - 20) * value) / my;
  return (
    <svg id={id} class="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img">
      <title>{title}</title>
      <path class="frame" d={`M${left} 20V${bottom}H${WIDTH - 40}`} />
      <text class="axis end" x={WIDTH - 40} y={bottom + 28}>
        {says(plot.x)}
      </text>
      <text class="axis" x={8} y={12}>
        {says(plot.y ?? "")}
      </text>
      {ticks(mx).map((tick) => (
        <text key={tick} class="tick" x={x(tick)} y={bottom + 14}>
          {number(tick)}
        </text>
      ))}
      {ticks(my).map((tick) => (
        <text key={tick} class="end" x={left - 6} y={y(tick) + 4}>
          {number(tick)}
        </text>
      ))}
      {plot.points.map((each) => (
        <g key={each.name}>
          <circle class="bar" cx={x(each.x)} cy={y(each.y)} r="6" />
          <text x={x(each.x) + 10} y={y(each.y) + 4}>
            {each.name}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Four or five round numbers up to one. */
function ticks(most: number): number[] {
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}
