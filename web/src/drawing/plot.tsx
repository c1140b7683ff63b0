// The plot of a report, if it helps: bars, or labelled points.

import { useNarrow } from "../domain/wiring";
import { type Cell, columnLabel } from "../table/rows";
import { number } from "../words";

/** How a report's header says to plot its rows, by names of columns. */
export interface Chart {
  x: string;
  /** Null for bars. */
  y: string | null;
  by: string;
}

export interface PlotData extends Chart {
  points: { name: string; x: number; y: number }[];
}

const MOST_BARS = 24;

/** Columns that a chart needs. */
export const columnsOf = ({ x, y, by }: Chart) => (y === null ? [x, by] : [x, y, by]);

export function plotOf(chart: Chart | null, columns: string[], rows: Cell[][]): PlotData | null {
  if (!chart || !columnsOf(chart).every((name) => columns.includes(name))) return null;
  const { x, y, by } = chart;
  const value = (row: Cell[], name: string) => row[columns.indexOf(name)] ?? null;
  const points = rows.flatMap((row) => {
    const [across, up] = [value(row, x), y === null ? 0 : value(row, y)];
    return typeof across === "number" && typeof up === "number"
      ? [{ name: String(value(row, by)), x: across, y: up }]
      : [];
  });
  if (points.some((point) => point.x < 0 || point.y < 0)) return null;
  // bars without any length say nothing
  return points.length && (y !== null || points.some((point) => point.x))
    ? { ...chart, points: y === null ? points.slice(0, MOST_BARS) : points }
    : null;
}

/** Width of a plot in a wide window and on a phone. */
const [WIDE, NARROW] = [640, 340];
/** About the width of a character. */
const CHARACTER = 6.6;
const BAR = 22;
const HEIGHT = 320;

/** What is drawn against what. */
export const axesOf = ({ x, y }: PlotData) => `${y ? `${columnLabel(y)} against ` : ""}${columnLabel(x)}`;

export function Plot({ id, plot }: { id: string; plot: PlotData }) {
  const all = plot.points.map((point) => `${point.name} ${number(point.x)}${plot.y ? `, ${number(point.y)}` : ""}`);
  const title = `${axesOf(plot)}: ${all.join("; ")}`;
  return plot.y === null ? <Bars id={id} plot={plot} title={title} /> : <Points id={id} plot={plot} title={title} />;
}

interface Drawn {
  id: string;
  plot: PlotData;
  title: string;
}

function Bars({ id, plot, title }: Drawn) {
  const most = Math.max(...plot.points.map((point) => point.x)) || 1;
  const height = 30 + BAR * plot.points.length;
  const all = useNarrow() ? NARROW : WIDE;
  const longest = Math.max(...plot.points.map(({ name }) => name.length));
  const names = Math.min(16 + CHARACTER * longest, 0.45 * all);
  return (
    <svg id={id} class="plot" viewBox={`0 0 ${all} ${height}`} role="img">
      <title>{title}</title>
      <text class="axis" x={names} y={16}>
        {columnLabel(plot.x)}
      </text>
      {plot.points.map((point, index) => {
        const width = ((all - names - 70) * point.x) / most;
        return (
          <g key={point.name + index}>
            <text class="end" x={names - 8} y={40 + BAR * index}>
              {point.name}
            </text>
            <rect class="bar" x={names} y={27 + BAR * index} width={width} height={BAR - 5} />
            <text x={names + width + 6} y={40 + BAR * index}>
              {number(point.x)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Points at the same place share a label. */
function atOnePlace(points: PlotData["points"]): PlotData["points"] {
  const places = new Map<string, PlotData["points"][number]>();
  for (const point of points) {
    const key = `${point.x} ${point.y}`;
    const other = places.get(key);
    places.set(key, other ? { ...point, name: `${other.name}, ${point.name}` } : point);
  }
  return [...places.values()];
}

function Points({ id, plot, title }: Drawn) {
  const wide = useNarrow() ? NARROW : WIDE;
  const [left, bottom] = [60, HEIGHT - 40];
  const most = (axis: "x" | "y") => 1.15 * Math.max(...plot.points.map((point) => point[axis])) || 1;
  const [mx, my] = [most("x"), most("y")];
  const x = (value: number) => left + ((wide - left - 40) * value) / mx;
  const y = (value: number) => bottom - ((bottom - 20) * value) / my;
  return (
    <svg id={id} class="plot" viewBox={`0 0 ${wide} ${HEIGHT}`} role="img">
      <title>{title}</title>
      <path class="frame" d={`M${left} 20V${bottom}H${wide - 40}`} />
      <text class="axis end" x={wide - 40} y={bottom + 28}>
        {columnLabel(plot.x)}
      </text>
      <text class="axis" x={8} y={12}>
        {columnLabel(plot.y ?? "")}
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
      {atOnePlace(plot.points).map((point) => (
        <g key={point.name}>
          <circle class="bar" cx={x(point.x)} cy={y(point.y)} r="6" />
          <text
            class={x(point.x) > wide / 2 ? "end" : undefined}
            x={x(point.x) + (x(point.x) > wide / 2 ? -10 : 10)}
            y={y(point.y) + 4}
          >
            {point.name}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Return four or five round numbers up to a maximum. */
function ticks(most: number): number[] {
  const rough = most / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}
