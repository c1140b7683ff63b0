// The legend: lines, colors and signs that occur in the picture.
import type { Wire, Wiring } from "../drawing/layout";
import { bandwidths, isReduced, type Marks } from "../drawing/wiring";
import { STATES, StateLabel, stateWord } from "../state";
import { number } from "../words";
import type { Mode } from "./modes";

const PATH: [string, string] = ["line path", "path"];
const CUT = "line cut";
const MEANS: Record<Mode, [string, string][]> = {
  path: [PATH],
  widest: [PATH],
  cut: [[CUT, "minimum cut"]],
  bisection: [
    [CUT, "crosses the halves"],
    ["side", "one half"],
    ["other", "other half"],
  ],
  pool: [
    ["hop h0", "selected chip"],
    ["hop h1", "1 hop"],
    ["hop h3", "3 hops"],
    ["hop h6", "6 or more hops"],
  ],
  jobs: [],
};

interface Props {
  wiring: Wiring;
  mode: Mode;
  marks: Marks;
  idle: Set<string>;
  derated: Set<string>;
  /** Whether marks are still to come, whose entries are there at once, so that nothing moves. */
  awaited?: boolean;
}

export function Legend({ wiring, mode, marks, idle, derated, awaited = false }: Props) {
  const { parts, wires } = wiring;
  const has = (state: string) =>
    parts.some((part) => part.state === state) || wires.some((wire) => wire.state === state);
  const assumed = parts.some(({ state, address }) => state === "up" && (idle.has(address) || derated.has(address)));
  const hasMarks = marks.links.size + marks.side.size + marks.hops.size > 0;
  const hops = new Set([...marks.hops.values()].map((hops) => `hop h${Math.min(hops, 6)}`));
  const carrying = new Set(wires.flatMap(({ address, nominal }) => (idle.has(address) ? [] : [nominal])));
  return (
    <ul class="legend">
      {bandwidths(wiring).map(
        (bandwidth, index) =>
          carrying.has(bandwidth) && (
            <li key={bandwidth}>
              <span class={`swatch line w${index % 3}${marks.links.size ? " faded" : ""}`} />
              {joins(wiring, bandwidth)}, {number(bandwidth)} GB/s
            </li>
          ),
      )}
      {(hasMarks || awaited) &&
        MEANS[mode].map(
          ([swatch, meaning]) =>
            (mode !== "pool" || awaited || hops.has(swatch)) && (
              <li key={meaning}>
                <span class={`swatch ${swatch}`} />
                {meaning}
              </li>
            ),
        )}
      {marks.before.size > 0 && (
        <li>
          <span class="swatch line before" /> previous path
        </li>
      )}
      {wires.some((wire) => isReduced(wire) || derated.has(wire.address)) && (
        <li>
          <span class="swatch line degraded dashed" />
          degraded link
        </li>
      )}
      {wires.some((wire) => idle.has(wire.address)) && (
        <li>
          <span class="swatch line idle" /> idle link
        </li>
      )}
      {STATES.filter((state) => state !== "up" && has(state)).map((state) => (
        <li key={state}>
          <StateLabel state={state}>{stateWord(state)}</StateLabel>
        </li>
      ))}
      {assumed && (
        <li>
          <span class="swatch assumed" /> what if
        </li>
      )}
      {wiring.wrapLinks.size > 0 && wiring.solid.size > 16 && <li>short stubs wrap around</li>}
    </ul>
  );
}

/** What links of a bandwidth connect. */
function joins({ parts, wires }: Wiring, bandwidth: number): string {
  const byAddress = new Map(parts.map((part) => [part.address, part]));
  const between = ({ a, b, scope }: Wire) => {
    const ends = [byAddress.get(a), byAddress.get(b)];
    const through = ends.find((end) => end?.kind === "switch");
    if (through) return through.server === null ? "rack switch" : "server switch";
    if (scope === "SERVER") return "within a server";
    return ends[0]?.rack === ends[1]?.rack || !parts.some((part) => part.kind === "switch")
      ? "between servers"
      : "between racks";
  };
  const links = wires.filter((wire) => wire.nominal === bandwidth);
  return [...new Set(links.map(between))].join(" or ");
}
