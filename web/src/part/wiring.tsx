// The chips of one server as they are wired, with the domain's looks.
import { useMemo } from "preact/hooks";
import { Legend } from "../domain/legend";
import { idleParts, idleReasons } from "../domain/scenario";
import { type Domain, wiringOf } from "../domain/wiring";
import type { Wiring } from "../drawing/layout";
import { NO_MARKS, WiringPicture } from "../drawing/wiring";
import { href } from "../route";
import { relativeTo } from "../words";
import type { LayoutAnswer, Surroundings } from "./documents";

const NOTHING = { down: [], derate: [] };

/** The part of a domain's wiring that lies in a server. */
export function serverWiring(server: Surroundings, placed: LayoutAnswer): Wiring {
  const places = new Set(placed.places.map(({ address }) => address));
  const { domain } = server;
  const own: Domain = {
    ...domain,
    servers: { nodes: [{ ...server }] },
    switches: { nodes: domain.switches.nodes.filter(({ address }) => places.has(address)) },
    links: { nodes: domain.links.nodes.filter(({ a, b }) => places.has(a.address) && places.has(b.address)) },
  };
  return wiringOf(own, withoutRack(placed));
}

/** Space that the name of a rack takes above its servers. */
const TITLE = 26;

/** A picture of one server without the name of its rack, which is not what is shown. */
function withoutRack(placed: LayoutAnswer): LayoutAnswer {
  const labels = placed.labels.filter(({ text, strong }) => !(strong && /^r\d+$/.test(text)));
  if (labels.length === placed.labels.length) return placed;
  const cut = <B extends { y: number; height: number }>(box: B) => ({
    ...box,
    y: box.y + TITLE,
    height: box.height - TITLE,
  });
  return { ...placed, labels, panels: placed.panels.map(cut), box: cut(placed.box) };
}

interface Props {
  server: Surroundings;
  placed: LayoutAnswer;
}

export function ServerWiring({ server, placed }: Props) {
  const wiring = useMemo(() => serverWiring(server, placed), [server, placed]);
  const idle = useMemo(() => idleParts(wiring, NOTHING), [wiring]);
  const faults = useMemo(() => idleReasons(wiring, idle), [wiring, idle]);
  const open = (address: string) => {
    location.hash = href("at", address);
  };
  const down = (address: string) => {
    location.hash = href("domain", wiring.domain, { down: relativeTo(wiring.domain, address) });
  };
  return (
    <>
      <section class="wide" aria-label="Picture">
        <WiringPicture
          id="wiring"
          wiring={wiring}
          layout={wiring.flat}
          marks={NO_MARKS}
          chosen={[]}
          target=""
          selected=""
          idle={idle}
          faults={faults}
          derated={new Set()}
          pick={open}
          open={open}
          toggle={down}
          breaking={false}
        />
      </section>
      <Legend wiring={wiring} mode="path" marks={NO_MARKS} idle={idle} derated={new Set()} />
    </>
  );
}
