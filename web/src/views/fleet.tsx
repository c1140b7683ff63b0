// Every chip of a fleet on a canvas: one pixel a chip, made once and then scaled and moved.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  addressOf,
  COLOURINGS,
  type Colouring,
  cellOf,
  chipAt,
  domainOf,
  fifth,
  type Grid,
  grid,
  type Overview,
  PLACE_COLOURS,
  POOL_COLOURS,
  pixels,
  rackOf,
  STATE_COLOURS,
  STATES,
} from "../overview";
import { Choice } from "../parts";
import { change, href, numberIn, oneOf, type Route } from "../route";
import { counted, number } from "../words";

interface View {
  scale: number;
  x: number;
  y: number;
}

/** Pixels of a cell, at least and at most. */
const CLOSENESS: [number, number] = [0.05, 64];

/** The view that shows all of it, in the middle. */
function wholeOf({ clientWidth, clientHeight }: HTMLElement, { width, height }: Grid): View {
  const scale = Math.min(clientWidth / width, clientHeight / height);
  return { scale, x: (width - clientWidth / scale) / 2, y: (height - clientHeight / scale) / 2 };
}

/** The canvas with its buttons and its legend; memory is that of a chip, in GiB. */
export function Fleet({ overview, route, memory }: { overview: Overview; route: Route; memory: number | undefined }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const to = useMemo(() => grid(overview), [overview]);
  const colouring = oneOf(COLOURINGS, route.options.colour, "state");
  const view = useRef<View>({ scale: 0, x: 0, y: 0 });
  const [chip, setChip] = useState(-1);

  const picture = useMemo(() => {
    const made = Object.assign(document.createElement("canvas"), { width: to.width, height: to.height });
    made.getContext("2d")?.putImageData(pixels(overview, to, colouring), 0, 0);
    return made;
  }, [overview, to, colouring]);

  const marked = useRef(-1);
  marked.current = chip;
  const waiting = useRef(0);
  const draw = () => {
    waiting.current ||= requestAnimationFrame(() => {
      waiting.current = 0;
      if (canvas.current) paint(canvas.current, picture, to, view.current, overview, marked.current);
    });
  };

  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const fit = () => {
      const { width, height } = element.getBoundingClientRect();
      const ratio = devicePixelRatio;
      Object.assign(element, { width: width * ratio, height: height * ratio });
      if (!view.current.scale) {
        const all = wholeOf(element, to);
        const { scale, x, y } = route.options;
        view.current = {
          scale: numberIn(scale, CLOSENESS, all.scale),
          x: numberIn(x, [-to.width, 2 * to.width], all.x),
          y: numberIn(y, [-to.height, 2 * to.height], all.y),
        };
      }
      draw();
    };
    const watch = new ResizeObserver(fit);
    watch.observe(element);
    return () => watch.disconnect();
  }, [picture]);
  useEffect(draw, [picture, chip]);

  const settle = () => {
    const { scale, x, y } = view.current;
    const kept = { scale: scale.toFixed(2), x: x.toFixed(1), y: y.toFixed(1) };
    view.current = { scale: Number(kept.scale), x: Number(kept.x), y: Number(kept.y) };
    change(kept, true);
    draw();
  };
  const zoom = (factor: number, px: number, py: number) => {
    const now = view.current;
    const scale = Math.max(CLOSENESS[0], Math.min(CLOSENESS[1], now.scale * factor));
    view.current = { scale, x: now.x + px / now.scale - px / scale, y: now.y + py / now.scale - py / scale };
    draw();
  };
  const at = (event: MouseEvent): [number, number] => [event.offsetX, event.offsetY];
  const under = (event: MouseEvent) => {
    const [px, py] = at(event);
    const { scale, x, y } = view.current;
    return chipAt(overview, to, x + px / scale, y + py / scale);
  };
  const open = (which: number) => {
    if (which >= 0) location.hash = href("domain", domainOf(addressOf(overview, which)));
  };

  const fingers = useRef(new Map<number, [number, number]>());
  const moved = useRef(0);
  const down = (event: PointerEvent) => {
    canvas.current?.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, at(event));
    if (fingers.current.size === 1) moved.current = 0;
  };
  const move = (event: PointerEvent) => {
    const before = fingers.current.get(event.pointerId);
    if (!before) {
      setChip(under(event));
      return;
    }
    const now = at(event);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    const others = [...fingers.current].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    fingers.current.set(event.pointerId, now);
    moved.current += Math.abs(dx) + Math.abs(dy);
    const other = others[0];
    if (other) {
      const apart = (from: [number, number]) => Math.max(1, Math.hypot(from[0] - other[0], from[1] - other[1]));
      zoom(apart(now) / apart(before), other[0], other[1]);
      return;
    }
    view.current.x -= dx / view.current.scale;
    view.current.y -= dy / view.current.scale;
    draw();
  };
  const up = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    if (moved.current < 5) open(under(event));
    else settle();
  };
  const later = useRef(0);
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...at(event));
    clearTimeout(later.current);
    later.current = window.setTimeout(settle, 300);
  };
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });

  const type = (event: KeyboardEvent) => {
    const element = canvas.current as HTMLCanvasElement;
    const [cx, cy] = [element.clientWidth / 2, element.clientHeight / 2];
    const far = event.shiftKey ? to.side + 1 : 1;
    const step = { ArrowRight: [far, 0], ArrowLeft: [-far, 0], ArrowDown: [0, far], ArrowUp: [0, -far] }[event.key];
    if (step) {
      const [x, y] = chip < 0 ? [1, 1] : cellOf(overview, to, chip);
      const [dx = 0, dy = 0] = chip < 0 ? [0, 0] : step;
      let next = chipAt(overview, to, x + dx, y + dy);
      if (next < 0) next = chipAt(overview, to, x + 2 * dx, y + 2 * dy);
      if (next >= 0) {
        setChip(next);
        follow(view.current, element, cellOf(overview, to, next));
      }
    } else if (event.key === "+" || event.key === "=") zoom(1.5, cx, cy);
    else if (event.key === "-") zoom(1 / 1.5, cx, cy);
    else if (event.key === "Enter") open(chip);
    else return;
    event.preventDefault();
  };

  const centre = (factor: number) => () => {
    const element = canvas.current as HTMLCanvasElement;
    zoom(factor, element.clientWidth / 2, element.clientHeight / 2);
    settle();
  };
  const whole = () => {
    view.current = wholeOf(canvas.current as HTMLCanvasElement, to);
    change({ scale: undefined, x: undefined, y: undefined }, true);
    draw();
  };

  return (
    <>
      <div class="tools">
        <Choice name="Colour" of={COLOURINGS} chosen={colouring} choose={(value) => change({ colour: value })} />
        <button type="button" onClick={centre(1.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={centre(1 / 1.5)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={whole}>
          All of it
        </button>
        <GoTo overview={overview} />
      </div>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrows move over it, as over an application */}
      <canvas
        ref={canvas}
        class="fleet"
        tabIndex={0}
        role="application"
        aria-label={`All ${number(overview.chips)} chips of ${overview.cluster}. Arrow keys move from chip to chip, with Shift from domain to domain; plus and minus zoom; Enter opens the domain.`}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={(event) => fingers.current.delete(event.pointerId)}
        onPointerLeave={() => setChip(-1)}
        onKeyDown={type}
      />
      <p class="told" aria-live="polite">
        {chip < 0 ? "Hover a chip for its name; click to open its domain." : describe(overview, chip, memory)}
      </p>
      <Legend overview={overview} colouring={colouring} memory={memory} />
    </>
  );
}

function describe(overview: Overview, chip: number, memory: number | undefined): string {
  const pool = overview.pools[chip] ?? 0;
  const size = memory ? ` (${number(pool * memory)} GiB)` : "";
  const state = STATES[overview.states[chip] ?? 0];
  return `${addressOf(overview, chip)}: ${state}, rack r${rackOf(overview, chip)}, pools with ${counted(pool, "chip")}${size}`;
}

/** Keep the chosen cell in sight. */
function follow(view: View, element: HTMLElement, [x, y]: [number, number]): void {
  const [width, height] = [element.clientWidth / view.scale, element.clientHeight / view.scale];
  view.x = Math.min(Math.max(view.x, x + 2 - width), x - 1);
  view.y = Math.min(Math.max(view.y, y + 2 - height), y - 1);
}

function paint(
  canvas: HTMLCanvasElement,
  picture: HTMLCanvasElement,
  { side, columns }: Grid,
  { scale, x, y }: View,
  overview: Overview,
  chip: number,
): void {
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const ratio = devicePixelRatio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, -x * ratio * scale, -y * ratio * scale);
  context.imageSmoothingEnabled = scale < 1;
  context.drawImage(picture, 0, 0);
  const ink = getComputedStyle(canvas).color;
  if (scale > 5) {
    context.font = `${Math.min(1, 11 / scale)}px sans-serif`;
    context.fillStyle = ink;
    const [width, height] = [canvas.width / ratio / scale, canvas.height / ratio / scale];
    const tile = side + 1;
    for (let row = Math.max(0, Math.floor(y / tile)); row * tile < y + height; row++) {
      for (let column = Math.max(0, Math.floor(x / tile)); column < columns && column * tile < x + width; column++) {
        const domain = row * columns + column;
        if (domain < overview.domains) context.fillText(`d${domain}`, column * tile + 1, row * tile + 0.9);
      }
    }
  }
  if (chip >= 0) {
    const [cx, cy] = cellOf(overview, { side, columns, width: 0, height: 0 }, chip);
    context.lineWidth = 2 / scale;
    context.strokeStyle = ink;
    context.strokeRect(cx - 1 / scale, cy - 1 / scale, 1 + 2 / scale, 1 + 2 / scale);
  }
}

function GoTo({ overview }: { overview: Overview }) {
  const go = (event: SubmitEvent) => {
    event.preventDefault();
    const number = new FormData(event.target as HTMLFormElement).get("domain");
    location.hash = href("domain", `${overview.cluster}/d${number}`);
  };
  return (
    <form onSubmit={go}>
      <label>
        Domain <input name="domain" type="number" min="0" max={overview.domains - 1} required />
      </label>{" "}
      <button type="submit">Open</button>
    </form>
  );
}

function Legend({
  overview,
  colouring,
  memory,
}: {
  overview: Overview;
  colouring: Colouring;
  memory: number | undefined;
}) {
  const entries: [string, string][] = useMemo(() => {
    if (colouring === "rack" || colouring === "domain") {
      return PLACE_COLOURS.slice(0, 2).map((colour, at) => [
        colour,
        at ? `the next ${colouring}, and so on` : `a ${colouring}`,
      ]);
    }
    if (colouring === "state") {
      return STATES.map((state, at) => [
        STATE_COLOURS[at] as string,
        `${state}: ${number(tally(overview.states, (each) => each === at))}`,
      ]);
    }
    return POOL_COLOURS.map((colour, at) => {
      const size = memory ? ` of ${number(overview.perDomain * memory)} GiB` : "";
      const count = tally(overview.pools, (pool) => fifth(pool, overview.perDomain) === at);
      return [colour, `${at * 20} to ${at * 20 + 20} %${size}: ${counted(count, "chip")}`];
    });
  }, [overview, colouring, memory]);
  return (
    <ul class="legend">
      {entries.map(([colour, says]) => (
        <li key={says}>
          <span class="swatch" style={{ background: colour }} /> {says}
        </li>
      ))}
    </ul>
  );
}

function tally(values: Uint8Array, test: (value: number) => boolean): number {
  let found = 0;
  for (const value of values) if (test(value)) found++;
  return found;
}
