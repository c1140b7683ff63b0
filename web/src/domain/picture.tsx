// The wiring with what the chosen answer marks, flat or turned, and what its colours mean.
import { useEffect, useMemo, useState } from "preact/hooks";
import { turned, type Wiring } from "../drawing/layout";
import { bandwidths, type Marks, NOTHING, WiringPicture } from "../drawing/wiring";
import { Choice } from "../parts";
import { change, numberIn, oneOf } from "../route";
import { STATES, Told, worded } from "../state";
import { below, number, within } from "../words";
import type { Taking } from "./answers";
import type { Answers } from "./asked";
import { lost } from "./down";

const SHOWN = {
  shortest: "Shortest path",
  widest: "Widest path",
  cut: "Minimum cut",
  bisection: "Bisection",
  pool: "Memory pool",
};
type Show = keyof typeof SHOWN;

/** What the chosen answer marks, once it is that of what is asked now. */
function marksOf(show: Show, { pair, halves, pool }: Answers, from: string): Marks {
  const marks = { ...NOTHING, cut: show === "cut" || show === "bisection" };
  const links = (all: { address: string }[]) => new Set(all.map((each) => each.address));
  if (show === "bisection") {
    return halves.data && !halves.loading
      ? { ...marks, links: links(halves.data.cut.nodes), side: new Set(halves.data.chipsA.nodes) }
      : marks;
  }
  if (show === "pool") {
    const rings = pool.loading ? [] : (pool.data?.byHops ?? []);
    const hops = rings.flatMap((ring) => ring.reached.map((chip): [string, number] => [chip.address, ring.hops]));
    return { ...marks, hops: new Map(rings.length ? [[from, 0], ...hops] : []) };
  }
  if (!pair.data || pair.loading) return marks;
  if (show === "cut") return { ...marks, links: links(pair.data.bandwidth.minimumCut.nodes) };
  const steps = pair.data[show].paths[0]?.steps ?? [];
  return {
    ...marks,
    links: links(steps.filter((step) => step.kind === "link")),
    nodes: links(steps.filter((step) => step.kind !== "link")),
  };
}

interface PictureProps {
  wiring: Wiring;
  answers: Answers;
  ends: [string, string];
  taking: Taking;
  options: Record<string, string>;
  narrow: boolean;
}

export function Picture({ wiring, answers, ends: [from, to], taking, options, narrow }: PictureProps) {
  const [breaking, setBreaking] = useState(false);
  const show: Show = oneOf(SHOWN, options.show, "shortest");
  const turns = wiring.solid.size > 0;
  const solid = turns && options.view === "3d";
  const [[yaw, pitch], turn] = useAngles(options, solid);
  const layout = useMemo(
    () => (solid ? turned(wiring, yaw, pitch, narrow) : wiring.flat),
    [wiring, solid, yaw, pitch, narrow],
  );
  const gone = lost(wiring, [...taking.down]);
  const short = (address: string) => below(wiring.domain, address);
  const pick = (address: string) => {
    if (address === from) change({ from: undefined, to: undefined });
    else if (!from || to) change({ from: short(address), to: undefined });
    else change({ to: short(address) });
  };
  const open = (address: string) => change({ sel: address.split("--").map(short).join("--") });
  return (
    <>
      <div class="tools">
        <Choice name="Show" of={SHOWN} chosen={show} choose={(value) => change({ show: value })} />
        {turns && (
          <Choice
            name="View"
            of={{ "2d": "2D", "3d": "3D" }}
            chosen={solid ? "3d" : "2d"}
            choose={(view) => change({ view: view === "3d" ? view : undefined, yaw: undefined, pitch: undefined })}
          />
        )}
        {solid && <Turning turn={turn} />}
        <label class="toggle">
          <input type="checkbox" checked={breaking} onChange={() => setBreaking(!breaking)} />
          <span>A click takes down</span>
        </label>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class={options.size === "full" ? "wide large" : "wide"} aria-label="Picture" tabIndex={0}>
        <WiringPicture
          id="wiring"
          wiring={wiring}
          layout={layout}
          marks={marksOf(show, answers, from)}
          chosen={[from, to].filter(Boolean)}
          selected={options.sel ? within(wiring.domain, options.sel.toLowerCase()) : ""}
          lost={gone}
          pick={pick}
          open={open}
          toggle={taking.toggle}
          breaking={breaking}
          turn={solid ? turn : undefined}
        />
      </section>
      <Legend wiring={wiring} show={show} lost={gone} />
    </>
  );
}

/** From where no two chips of an UltraServer hide each other. */
const ANGLES: [number, number] = [-14, 26];

/** Yaw and pitch in degrees, and how to turn further; the view's address follows when the turning rests. */
function useAngles(
  options: Record<string, string>,
  solid: boolean,
): [[number, number], (dx: number, dy: number) => void] {
  const given = (): [number, number] => [
    numberIn(options.yaw, [-1e6, 1e6], ANGLES[0]),
    numberIn(options.pitch, [-90, 90], ANGLES[1]),
  ];
  const [angles, setAngles] = useState(given);
  useEffect(() => setAngles(given()), [options.yaw, options.pitch]);
  const [yaw, pitch] = angles;
  useEffect(() => {
    if (!solid || String(angles) === String(given())) return;
    const rest = setTimeout(() => change({ yaw: yaw.toFixed(0), pitch: pitch.toFixed(0) }, true), 300);
    return () => clearTimeout(rest);
  }, [solid, yaw, pitch]);
  return [angles, (dx, dy) => setAngles([yaw + dx, Math.max(-90, Math.min(90, pitch + dy))])];
}

function Turning({ turn }: { turn: (dx: number, dy: number) => void }) {
  return (
    <fieldset class="choice">
      <legend>Turn</legend>
      {(
        [
          ["left", "←", -15, 0],
          ["right", "→", 15, 0],
          ["up", "↑", 0, 15],
          ["down", "↓", 0, -15],
        ] as const
      ).map(([name, sign, dy, dp]) => (
        <button key={name} type="button" class="small" aria-label={`Turn ${name}`} onClick={() => turn(dy, dp)}>
          {sign}
        </button>
      ))}
    </fieldset>
  );
}

const PATH: [string, string] = ["line path", "the path"];
const CUT: [string, string] = ["line cut dashed", "the links cut"];
const LEGEND: Record<Show, [string, string][]> = {
  shortest: [PATH],
  widest: [PATH],
  cut: [CUT],
  bisection: [CUT, ["side", "one half"], ["other", "the other"]],
  pool: [
    ["hop h0", "the chip"],
    ["hop h1", "one hop"],
    ["hop h3", "three"],
    ["hop h6", "six or more"],
  ],
};
const has = ({ parts, wires }: Wiring, state: string) =>
  parts.some((part) => part.state === state) || wires.some((wire) => wire.state === state);

function Legend({ wiring, show, lost }: { wiring: Wiring; show: Show; lost: Set<string> }) {
  const supposed = wiring.parts.some((part) => part.state === "up" && lost.has(part.address));
  return (
    <ul class="legend">
      {bandwidths(wiring).map((bandwidth, at) => (
        <li key={bandwidth}>
          <span class={`swatch line w${at % 3}`} />{" "}
          {[...new Set(wiring.wires.filter((wire) => wire.nominal === bandwidth).map((wire) => wire.technology))].join(
            ", ",
          )}{" "}
          {number(bandwidth)} GB/s one direction
        </li>
      ))}
      {LEGEND[show].map(([swatch, says]) => (
        <li key={says}>
          <span class={`swatch ${swatch}`} /> {says}
        </li>
      ))}
      {wiring.wires.some((wire) => wire.state === "degraded") && (
        <li>
          <span class="swatch line degraded dashed" /> degraded link
        </li>
      )}
      {wiring.wires.some((wire) => lost.has(wire.address)) && (
        <li>
          <span class="swatch line idle" /> carries nothing
        </li>
      )}
      {STATES.filter((state) => state !== "up" && has(wiring, state)).map((state) => (
        <li key={state}>
          <Told state={state}>{worded(state)}</Told>
        </li>
      ))}
      {supposed && (
        <li>
          <Told state="down">dashed: supposed down</Told>
        </li>
      )}
      {wiring.wrapping.size > 0 && wiring.solid.size > 16 && <li>short ends: a link that wraps around</li>}
      <li>numbers: devices as neuron-ls has them</li>
    </ul>
  );
}
