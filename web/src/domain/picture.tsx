// The wiring with the marks of the selected answer, flat or turned, and its legend.
import { useMemo } from "preact/hooks";
import { rotate, type Wiring } from "../drawing/layout";
import { type Marks, WiringPicture } from "../drawing/wiring";
import { change } from "../route";
import { absoluteIn, relativeTo } from "../words";
import { Turning, useAngles } from "./angles";
import { Legend } from "./legend";
import type { Mode } from "./modes";
import { factorOf, idleParts, idleReasons, type Scenario, setFactor } from "./scenario";

interface Props {
  wiring: Wiring;
  mode: Mode;
  marks: Marks;
  ends: [string, string];
  scenario: Scenario;
  options: Record<string, string>;
  solid: boolean;
  /** Whether a plain click assumes a part down. */
  breaking: boolean;
  /** Whether the marks are still to come. */
  awaited: boolean;
}

export function Picture(props: Props) {
  const { wiring, mode, marks, ends, scenario, options, solid, breaking, awaited } = props;
  const [from, to] = ends;
  const [[yaw, pitch], turn] = useAngles(options, solid);
  const layout = useMemo(() => (solid ? rotate(wiring, yaw, pitch) : wiring.flat), [wiring, solid, yaw, pitch]);
  const gone = useMemo(() => idleParts(wiring, scenario), [wiring, scenario]);
  const why = useMemo(() => idleReasons(wiring, gone), [wiring, gone]);
  const derated = useMemo(() => new Set(scenario.derate.map(({ address }) => address)), [scenario]);
  const short = (address: string) => relativeTo(wiring.domain, address);
  const pick = (address: string) => {
    if (address === from) change({ from: undefined, to: undefined });
    else if (!from || to) change({ from: short(address), to: undefined });
    else change({ to: short(address) });
  };
  return (
    <div class="card flush">
      {solid && <Turning turn={turn} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class={options.size === "full" ? "wide large" : "wide"} aria-label="Picture" tabIndex={0}>
        <WiringPicture
          id="wiring"
          wiring={wiring}
          layout={layout}
          marks={marks}
          chosen={[from, to].filter(Boolean)}
          target={to}
          selected={options.sel ? absoluteIn(wiring.domain, options.sel.toLowerCase()) : ""}
          idle={gone}
          faults={why}
          derated={derated}
          pick={pick}
          open={(address) => change({ sel: short(address) })}
          toggle={(address) => setFactor(wiring.domain, scenario, address, factorOf(scenario, address) === 0 ? 1 : 0)}
          breaking={breaking}
          turn={solid ? turn : undefined}
        />
      </section>
      <Legend wiring={wiring} mode={mode} marks={marks} idle={gone} derated={derated} awaited={awaited} />
    </div>
  );
}
