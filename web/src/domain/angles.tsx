// The viewing angle of a domain in 3D.
import { useEffect, useState } from "preact/hooks";
import { change, numberIn } from "../route";

/** Angles from which no two chips of an UltraServer hide each other, and no two links lie on each other. */
const USUAL: [number, number] = [46, -16];

/** Yaw and pitch in degrees, and functions that turn further; the page's address follows when the turning stops. */
export function useAngles(
  options: Record<string, string>,
  solid: boolean,
): [[number, number], (dx: number, dy: number) => void] {
  const anglesOf = (): [number, number] => [
    numberIn(options.yaw, [-1e6, 1e6], USUAL[0]),
    numberIn(options.pitch, [-90, 90], USUAL[1]),
  ];
  const [angles, setAngles] = useState(anglesOf);
  useEffect(() => setAngles(anglesOf()), [options.yaw, options.pitch]);
  const [yaw, pitch] = angles;
  useEffect(() => {
    if (!solid || String(angles) === String(anglesOf())) return;
    const rest = setTimeout(() => change({ yaw: yaw.toFixed(0), pitch: pitch.toFixed(0) }, true), 300);
    return () => clearTimeout(rest);
  }, [solid, yaw, pitch]);
  return [angles, (dx, dy) => setAngles([yaw + dx, Math.max(-90, Math.min(90, pitch + dy))])];
}

export function Turning({ turn }: { turn: (dx: number, dy: number) => void }) {
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
