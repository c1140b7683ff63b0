// Markers on the map, the outline of the selection, and the tooltip of a marker.
import { useMemo } from "preact/hooks";
import { BriefReason } from "../parts";
import { Glyph, stateWord } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import type { Camera } from "./camera";
import { cellOf } from "./layout";
import type { Marker } from "./markers";

const SIZE = 20;
const ROUND = 26;

interface MarkersProps {
  markers: Marker[];
  /** Whether a whole server that is not up fills the square of its domain. */
  isFilled: boolean;
}

export function Markers({ markers, isFilled }: MarkersProps) {
  return useMemo(
    () =>
      markers.map((marker) => {
        const { x, y, spot, count, side } = marker;
        return (
          <span
            key={`${spot.address} ${x} ${y}`}
            class={`marker ${spot.state}${side ? (spot.chips > 1 && !isFilled ? " square" : " square filled") : ""}`}
            data-at={spot.address}
            style={placeOf(marker)}
          >
            <Glyph state={spot.state} />
            {count > 1 && <b>{count > 999 ? `${Math.floor(count / 1000)}k` : number(count)}</b>}
          </span>
        );
      }),
    [markers, isFilled],
  );
}

/** A square covers every pixel of its domain, that of a chip stays within it. */
function placeOf({ x, y, spot, side }: Marker) {
  if (!side) return { left: `${Math.round(x - SIZE / 2)}px`, top: `${Math.round(y - SIZE / 2)}px` };
  if (spot.chips === 1) {
    const own = `${Math.round(side)}px`;
    return { left: `${Math.round(x - side / 2)}px`, top: `${Math.round(y - side / 2)}px`, width: own, height: own };
  }
  const [left, top] = [Math.floor(x - side / 2), Math.floor(y - side / 2)];
  const size = `${Math.ceil(side) + 1}px`;
  return { left: `${left}px`, top: `${top}px`, width: size, height: size };
}

/** The outline of the selection, around these chips. */
export function Ring({ camera, chips }: { camera: Camera; chips: number[] }) {
  const corners = chips.map((chip) => camera.corner(cellOf(camera.overview, camera.to, chip)));
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const [x, y, right, bottom] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  const [wide, high] = [right + camera.chip - x, bottom + camera.chip - y].map((size) => Math.max(ROUND, size + 8));
  const [left, top] = [(x + right + camera.chip) / 2, (y + bottom + camera.chip) / 2];
  const style = {
    left: `${left - (wide ?? 0) / 2}px`,
    top: `${top - (high ?? 0) / 2}px`,
    width: `${wide}px`,
    height: `${high}px`,
    borderRadius: wide === ROUND && high === ROUND ? "50%" : "6px",
  };
  return <span class="chosen-ring" style={style} />;
}

/** Pixels from a domain to its frame, from its name to the frame's upper edge, and the least side of one. */
const [AROUND, ABOVE, LEAST] = [4, 14, 12];

/** The frame of the domain that the panel shows, and of its name. */
export function Frame({ camera, chip }: { camera: Camera; chip: number }) {
  const [column, row] = cellOf(camera.overview, camera.to, chip);
  const [x, y] = camera.corner([column, row, 0, 0]);
  const above = camera.isNear ? ABOVE : AROUND;
  const side = Math.max(LEAST, camera.side + 2 * AROUND);
  const size = { width: `${side}px`, height: `${side + above - AROUND}px` };
  return <span class="shown-frame" style={{ left: `${x - AROUND}px`, top: `${y - above}px`, ...size }} />;
}

export function Tip({ marker: { x, y, spot, count }, camera }: { marker: Marker; camera: Camera }) {
  const [left, top] = camera.origin;
  const place = {
    ...(x + left > camera.width / 2 ? { right: `${camera.width - x - left + 18}px` } : { left: `${x + left + 18}px` }),
    ...(y + top > camera.height / 2 ? { bottom: `${camera.height - y - top + 8}px` } : { top: `${y + top + 8}px` }),
  };
  const { address, chips, offMap, state, cause } = spot;
  return (
    <div class="tip" style={place}>
      <p>
        <Glyph state={state} /> <strong>{shortenAddress(address).split("/").slice(1).join("/")}</strong>{" "}
        {offMap ? stateWord(state) : `${pluralize(chips, "chip")} ${stateWord(state)}`}
      </p>
      {cause && (
        <p>
          <BriefReason text={cause.why ?? "no reason given"} />
        </p>
      )}
      <p>
        {count > 1 ? `${pluralize(count, "cause")} here. Click to zoom in.` : "Click to select, double-click to open."}
      </p>
    </div>
  );
}
