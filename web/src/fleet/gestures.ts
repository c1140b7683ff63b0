// Mouse, touch, wheel and keys on the map's canvas.
import type { Camera, Pixel } from "./camera";

export interface Acts {
  hover: (pixel: Pixel | null) => void;
  /** A click, and a double-click. */
  choose: (pixel: Pixel) => void;
  open: (pixel: Pixel) => void;
  /** The camera has moved, and has come to rest. */
  moved: () => void;
  rested: () => void;
  /** A key that does not move the camera; returns whether it was handled. */
  key: (event: KeyboardEvent) => boolean;
}

const CLICK = 5;
const REST = 300;

/** Add the listeners; returns a function that removes them. */
export function gestures(element: HTMLElement, camera: Camera, acts: Acts): () => void {
  const control = new AbortController();
  const fingers = new Map<number, Pixel>();
  let travelled = 0;
  let rest = 0;
  const pixelOf = (event: MouseEvent): Pixel => [event.offsetX, event.offsetY];
  const restSoon = () => {
    acts.moved();
    clearTimeout(rest);
    rest = window.setTimeout(acts.rested, REST);
  };

  function down(event: PointerEvent): void {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, pixelOf(event));
    if (fingers.size === 1) travelled = 0;
  }
  function move(event: PointerEvent): void {
    const before = fingers.get(event.pointerId);
    const now = pixelOf(event);
    if (!before) {
      acts.hover(now);
      return;
    }
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    fingers.set(event.pointerId, now);
    travelled += Math.abs(dx) + Math.abs(dy);
    if (other) {
      const apart = (from: Pixel) => Math.max(1, Math.hypot(from[0] - other[0], from[1] - other[1]));
      camera.zoom(apart(now) / apart(before), other);
    } else camera.move(dx, dy);
    acts.moved();
  }
  function up(event: PointerEvent): void {
    if (!fingers.delete(event.pointerId)) return;
    if (travelled < CLICK) acts.choose(pixelOf(event));
    else acts.rested();
  }
  function wheel(event: WheelEvent): void {
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY / 400), pixelOf(event));
    restSoon();
  }
  function key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
    if (factor) {
      camera.zoom(factor, [camera.width / 2, camera.height / 2]);
      restSoon();
    } else if (!acts.key(event)) return;
    event.preventDefault();
  }

  const options = { signal: control.signal };
  element.addEventListener("pointerdown", down, options);
  element.addEventListener("pointermove", move, options);
  element.addEventListener("pointerup", up, options);
  element.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId), options);
  element.addEventListener("pointerleave", () => acts.hover(null), options);
  element.addEventListener("dblclick", (event) => acts.open(pixelOf(event)), options);
  element.addEventListener("wheel", wheel, { ...options, passive: false });
  element.addEventListener("keydown", key, options);
  return () => {
    clearTimeout(rest);
    control.abort();
  };
}
