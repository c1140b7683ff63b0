// Zoom and pan: the part of the picture's box that fills the frame.
import { useRef, useState } from "preact/hooks";
import type { Box, Point } from "./layout";

const MOST = 8;
/** Pixels after which a press counts as a drag. */
const SLACK = 4;

export interface Zoom {
  view: Box;
  times: number;
  /** Zoom by a factor, about a point of the screen or the middle. */
  by: (factor: number, about?: Point) => void;
  reset: () => void;
  /** Handlers for the picture's element. */
  hears: {
    onPointerDown: (event: PointerEvent) => void;
    onPointerMove: (event: PointerEvent) => void;
    onPointerUp: (event: PointerEvent) => void;
    onPointerLeave: (event: PointerEvent) => void;
  };
  /** Whether the press that just ended was a drag. */
  dragged: () => boolean;
}

/** The visible part of a box; a drag turns the picture if it can be turned, and otherwise moves it. */
export function useZoom(
  element: { current: SVGSVGElement | null },
  box: Box,
  turn: ((dx: number, dy: number) => void) | undefined,
): Zoom {
  const [{ x, y, times }, see] = useState({ x: 0.5, y: 0.5, times: 1 });
  const fingers = useRef(new Map<number, Point>());
  const moved = useRef(0);
  const [width, height] = [box.width / times, box.height / times];
  const view = { x: box.x + x * box.width - width / 2, y: box.y + y * box.height - height / 2, width, height };

  const to = (next: { x: number; y: number; times: number }) => {
    const times = Math.min(MOST, Math.max(1, next.times));
    const inside = (value: number) => Math.min(1 - 0.5 / times, Math.max(0.5 / times, value));
    see({ x: inside(next.x), y: inside(next.y), times: times });
  };
  /** Units of the picture per pixel. */
  const scale = () => 1 / (element.current?.getScreenCTM()?.a ?? 1);
  const by = (factor: number, about?: Point) => {
    const frame = element.current?.getBoundingClientRect();
    if (!frame) return;
    const [px, py] = about ? [about.x - frame.x - frame.width / 2, about.y - frame.y - frame.height / 2] : [0, 0];
    const next = Math.min(MOST, Math.max(1, times * factor));
    const gain = scale() * (1 - times / next);
    to({ x: x + (px * gain) / box.width, y: y + (py * gain) / box.height, times: next });
  };
  const down = (event: PointerEvent) => {
    fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.current.size === 1) moved.current = 0;
  };
  const move = (event: PointerEvent) => {
    const before = fingers.current.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    moved.current += Math.hypot(dx, dy);
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      by(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(apart, 1), other);
    } else if (turn) turn(dx, dy);
    else if (times > 1) to({ x: x - (dx * scale()) / box.width, y: y - (dy * scale()) / box.height, times });
    fingers.current.set(event.pointerId, now);
  };
  const up = (event: PointerEvent) => fingers.current.delete(event.pointerId);
  return {
    view,
    times,
    by,
    reset: () => see({ x: 0.5, y: 0.5, times: 1 }),
    hears: { onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerLeave: up },
    dragged: () => moved.current > SLACK,
  };
}
