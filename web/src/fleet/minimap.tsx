// The minimap, once less than half of the cluster is visible, and the buttons of the camera.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { change } from "../route";
import { STATES } from "../state";
import type { Camera } from "./camera";
import { renderImage } from "./image";
import { inkOf } from "./ink";
import { cellOf } from "./layout";
import type { Painter } from "./paint";
import type { Spot } from "./spots";

interface Props {
  camera: Camera | null;
  painter: Painter;
  marked: Spot[];
  frame: RefObject<HTMLElement | null>;
  isShown: boolean;
  moved: () => void;
  rest: () => void;
}

const [WIDE, HIGH] = [168, 120];
const DOT = 4;

export function Minimap({ camera, painter, marked, frame, isShown, moved, rest }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tile = camera ? Math.min(WIDE / camera.to.columns, HIGH / camera.to.rows) : 1;
  useEffect(() => {
    if (!isShown || !camera || !canvas.current) return;
    const { overview, to } = camera;
    const { codes, inks } = painter.look;
    const ratio = devicePixelRatio;
    const image = renderImage(overview, to, codes, inks, tile * ratio);
    Object.assign(canvas.current, { width: image.width, height: image.height });
    const context = canvas.current.getContext("2d") as CanvasRenderingContext2D;
    context.drawImage(image, 0, 0);
    const dot = DOT * ratio;
    const inksBy = Object.fromEntries(STATES.map((state) => [state, inkOf(state)]));
    for (const spot of [...marked].reverse()) {
      const [column, row] = cellOf(overview, to, spot.chip);
      context.fillStyle = inksBy[spot.state] ?? "";
      context.fillRect((column + 0.5) * tile * ratio - dot / 2, (row + 0.5) * tile * ratio - dot / 2, dot, dot);
    }
    moved();
  }, [isShown, camera, painter, marked]);
  const go = (event: PointerEvent) => {
    if (!camera || !event.buttons) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / tile, (event.clientY - box.top) / tile];
    const [cx, cy] = camera.tile([camera.width / 2, camera.height / 2]);
    camera.move((cx - x) * camera.scale, (cy - y) * camera.scale);
    moved();
  };
  return (
    <div class="corner">
      {isShown && camera && (
        <div
          class="mini"
          aria-hidden="true"
          style={{ width: `${camera.to.columns * tile}px`, height: `${camera.to.rows * tile}px` }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            go(event);
          }}
          onPointerMove={go}
          onPointerUp={rest}
        >
          <canvas ref={canvas} />
          <i ref={frame} />
        </div>
      )}
    </div>
  );
}

/** The buttons below the map, where they cover no chip. */
export function ZoomButtons({ zoom }: { zoom: (factor: number) => void }) {
  return (
    <div class="zoom">
      <button type="button" class="square" onClick={() => zoom(1.5)} aria-label="Zoom in">
        +
      </button>
      <button type="button" class="square" onClick={() => zoom(1 / 1.5)} aria-label="Zoom out">
        −
      </button>
      <button
        type="button"
        class="square"
        onClick={() => change({ zoom: undefined, at: undefined }, true)}
        aria-label="Show all"
        title="Show all"
      >
        ⤢
      </button>
    </div>
  );
}
