// Every chip of a fleet on a canvas: one pixel a chip, made once and then scaled and moved.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  addressOf,
  COLOURINGS,
  type Colouring,
  cellOf,
  chipAt,
  domainOf,
  fifthOf,
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
import { change, href, oneOf, type Route } from "../route";
import { counted, number } from "../words";
import { Camera } from "./camera";
import { gestures } from "./gestures";
import { paint } from "./paint";

interface Props {
  overview: Overview;
  route: Route;
  /** Of a chip, in GiB. */
  memory: number | undefined;
}

/** The canvas with its buttons and its legend. */
export function Fleet({ overview, route, memory }: Props) {
  const { options } = route;
  const canvas = useRef<HTMLCanvasElement>(null);
  const camera = useRef<Camera | null>(null);
  const to = useMemo(() => grid(overview), [overview]);
  const colouring = oneOf(COLOURINGS, options.colour, "state");
  const [chip, setChip] = useState(-1);
  const picture = useMemo(() => pictureOf(overview, to, colouring), [overview, to, colouring]);

  const draw = useRef(() => {});
  const waiting = useRef(0);
  draw.current = () => {
    waiting.current ||= requestAnimationFrame(() => {
      waiting.current = 0;
      if (camera.current) paint(camera.current, picture, overview, to, chosen.current);
    });
  };
  const chosen = useRef(chip);
  chosen.current = chip;
  const now = useRef(options);
  now.current = options;

  const rest = () => {
    if (camera.current) change(camera.current.kept(), true);
  };
  const open = (which: number) => {
    if (which >= 0) location.hash = href("domain", domainOf(addressOf(overview, which)));
  };
  useEffect(() => {
    const made = new Camera(canvas.current as HTMLCanvasElement, to);
    camera.current = made;
    const below = (at: [number, number]) => chipAt(overview, to, ...made.cell(at));
    const stop = gestures(made, {
      hover: (at) => setChip(at ? below(at) : -1),
      open: (at) => open(below(at)),
      moved: () => draw.current(),
      rested: rest,
      key: (event) => {
        if (event.key === "Enter") open(chosen.current);
        const next = step(event, overview, to, chosen.current);
        if (next < 0) return event.key === "Enter";
        setChip(next);
        made.follow(cellOf(overview, to, next));
        return true;
      },
    });
    const watch = new ResizeObserver(() => {
      const { element } = made;
      element.width = element.clientWidth * devicePixelRatio;
      element.height = element.clientHeight * devicePixelRatio;
      made.show(now.current);
      draw.current();
    });
    watch.observe(made.element);
    return () => {
      stop();
      watch.disconnect();
    };
  }, [overview, to]);
  useEffect(() => {
    camera.current?.show(options);
    draw.current();
  }, [options.scale, options.x, options.y]);
  useEffect(() => draw.current(), [picture, chip]);

  const zoom = (factor: number) => () => {
    const { clientWidth, clientHeight } = canvas.current as HTMLCanvasElement;
    camera.current?.zoom(factor, [clientWidth / 2, clientHeight / 2]);
    rest();
  };
  return (
    <>
      <div class="tools">
        <Choice name="Colour" of={COLOURINGS} chosen={colouring} choose={(value) => change({ colour: value })} />
        <button type="button" onClick={zoom(1.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={zoom(1 / 1.5)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={() => change({ scale: undefined, x: undefined, y: undefined }, true)}>
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
      />
      <p class="told" aria-live="polite">
        {chip < 0 ? "Hover a chip for its name; click to open its domain." : describe(overview, chip, memory)}
      </p>
      <Legend overview={overview} colouring={colouring} memory={memory} />
    </>
  );
}

function pictureOf(overview: Overview, to: Grid, colouring: Colouring): HTMLCanvasElement {
  const made = Object.assign(document.createElement("canvas"), { width: to.width, height: to.height });
  made.getContext("2d")?.putImageData(pixels(overview, to, colouring), 0, 0);
  return made;
}

/** The chip that an arrow key leads to, with Shift in the next domain; the first where none was chosen; or -1. */
function step(event: KeyboardEvent, overview: Overview, to: Grid, from: number): number {
  const far = event.shiftKey ? to.side + 1 : 1;
  const way = { ArrowRight: [far, 0], ArrowLeft: [-far, 0], ArrowDown: [0, far], ArrowUp: [0, -far] }[event.key];
  if (!way) return -1;
  if (from < 0) return 0;
  const [dx = 0, dy = 0] = way;
  const [x, y] = cellOf(overview, to, from);
  const next = chipAt(overview, to, x + dx, y + dy);
  return next < 0 ? chipAt(overview, to, x + 2 * dx, y + 2 * dy) : next; // over the gap between two domains
}

function describe(overview: Overview, chip: number, memory: number | undefined): string {
  const pool = overview.pools[chip] ?? 0;
  const size = memory ? ` (${number(pool * memory)} GiB)` : "";
  const state = STATES[overview.states[chip] ?? 0];
  return `${addressOf(overview, chip)}: ${state}, rack r${rackOf(overview, chip)}, pools with ${counted(pool, "chip")}${size}`;
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
      const each = overview.parts.length === 1 ? overview.parts[0]?.perDomain : undefined;
      const size = each && memory ? ` of ${number(each * memory)} GiB` : "";
      const count = tally(overview.pools, (_, chip) => fifthOf(overview, chip) === at);
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

function tally(values: Uint8Array, test: (value: number, at: number) => boolean): number {
  let found = 0;
  values.forEach((value, at) => {
    if (test(value, at)) found++;
  });
  return found;
}
