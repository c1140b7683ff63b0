// Glyphs of states, with the same shapes as in trninv/drawing/symbols.py.
import type { Box, Point } from "./layout";

export const fixed = (value: number) => String(Number((Math.round(value * 10) / 10 || 0).toFixed(1)));

export const sized = ({ x, y, width, height }: Box) => ({
  x: fixed(x),
  y: fixed(y),
  width: fixed(width),
  height: fixed(height),
});

/** The glyph of a state, on a background disc if something lies below it. */
export function Sign({ position, state, around }: { position: Point; state: string; around?: boolean }) {
  return (
    <g class={`sign ${state}`} transform={`translate(${fixed(position.x)} ${fixed(position.y)})`}>
      {around && <circle class="paper" r="6.5" />}
      {state === "degraded" ? (
        <>
          <circle class="edge" r="4.4" />
          <path d="M0-4.4a4.4 4.4 0 0 1 0 8.8z" />
        </>
      ) : state === "maintenance" ? (
        <path d="M0-4.8l4.8 4.8l-4.8 4.8l-4.8-4.8z" />
      ) : (
        <path class="edge cross" d="M-3.2-3.2l6.4 6.4m0-6.4l-6.4 6.4" />
      )}
    </g>
  );
}
