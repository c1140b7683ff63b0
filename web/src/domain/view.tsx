// One domain: its wiring, two chips and all that is between them, and what happens when something is down.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Asked, asking, type Result, useAsked } from "../api";
import { flat, type Layout, turned, type Wiring } from "../drawing/layout";
import { bandwidths, type Marks, NOTHING, WiringPicture } from "../drawing/wiring";
import { Choice, Copy, Download, drawn, Shown } from "../parts";
import { change, href, numberIn, oneOf, type Route } from "../route";
import { below, number, within } from "../words";
import { Between, Bisection, LinkTable, MemoryPool, TakeDown } from "./answers";
import { type Answers, useAnswers } from "./asked";
import { WIRING } from "./documents";

const SHOWN = {
  shortest: "Shortest path",
  widest: "Widest path",
  cut: "Minimum cut",
  bisection: "Bisection",
  pool: "Memory pool",
};
type Show = keyof typeof SHOWN;

export function DomainView({ route }: { route: Route }) {
  const asked = asking(WIRING, { at: route.of });
  return (
    <Shown of={useAsked(asked)}>
      {(data) => {
        const domain = data.resolve;
        if (!("wiring" in domain)) return <p class="failure">{route.of} is no domain.</p>;
        return <Opened domain={domain} route={route} asked={asked} />;
      }}
    </Shown>
  );
}

type Domain = Extract<Result<typeof WIRING>["resolve"], { wiring: string }>;

function wiringOf(domain: Domain): Wiring {
  const servers = domain.servers.nodes;
  return {
    domain: domain.address,
    wiring: domain.wiring,
    parts: [
      ...servers.flatMap((server) =>
        server.chips.nodes.map((chip) => ({
          ...chip,
          kind: "chip" as const,
          server: server.ordinal,
          rack: server.rack.ordinal,
        })),
      ),
      ...domain.switches.nodes.map((each) => ({
        ...each,
        kind: "switch" as const,
        server: each.server?.ordinal ?? null,
        rack: each.rack.ordinal,
      })),
    ],
    wires: domain.links.nodes.map((link) => ({
      ...link,
      a: link.a.address,
      b: link.b.address,
      nominal: link.nominal.gigabytesPerSecond,
      now: link.bandwidth.gigabytesPerSecond,
    })),
  };
}

function marksOf(show: Show, { pair, halves, pool }: Answers, from: string): Marks {
  const marks = { ...NOTHING, cut: show === "cut" || show === "bisection" };
  const links = (all: { address: string }[]) => new Set(all.map((each) => each.address));
  if (show === "bisection" && halves.data) {
    return { ...marks, links: links(halves.data.cut.nodes), side: new Set(halves.data.chipsA) };
  }
  if (show === "pool" && pool.data) {
    const hops = pool.data.byHops.flatMap((ring) =>
      ring.reached.map((chip): [string, number] => [chip.address, ring.hops]),
    );
    return { ...marks, hops: new Map([[from, 0], ...hops]) };
  }
  if (show === "cut" && pair.data) return { ...marks, links: links(pair.data.bandwidth.minimumCut) };
  if ((show === "shortest" || show === "widest") && pair.data) {
    const steps = pair.data[show].paths[0]?.steps ?? [];
    return {
      ...marks,
      links: links(steps.filter((step) => step.kind === "link")),
      nodes: links(steps.filter((step) => step.kind !== "link")),
    };
  }
  return marks;
}

function Opened({ domain, route, asked }: { domain: Domain; route: Route; asked: Asked }) {
  const place = domain.address;
  const { options } = route;
  const [breaking, setBreaking] = useState(false);
  const wiring = useMemo(() => wiringOf(domain), [domain]);
  const from = options.from ? within(place, options.from) : "";
  const to = options.to ? within(place, options.to) : "";
  const down = useMemo(
    () => (options.down ? options.down.split(",").map((short) => within(place, short)) : []),
    [options.down, place],
  );
  const show: Show = oneOf(SHOWN, options.show, "shortest");
  const answers = useAnswers(place, from, to, down);
  const [[yaw, pitch], setAngles] = useState([
    numberIn(options.yaw, [-1e6, 1e6], -28),
    numberIn(options.pitch, [-90, 90], 22),
  ] as const);
  const solid = options.view === "3d" && wiring.wiring === "torus";
  const layout: Layout = useMemo(
    () => (solid ? turned(wiring, yaw, pitch) : flat(wiring)),
    [wiring, solid, yaw, pitch],
  );

  const short = (address: string) => below(place, address);
  const pick = (address: string) => {
    if (address === from) change({ from: undefined, to: undefined });
    else if (!from || to) change({ from: short(address), to: undefined });
    else change({ to: short(address) });
  };
  const toggle = (address: string) => {
    const next = down.includes(address) ? down.filter((each) => each !== address) : [...down, address];
    change({ down: next.map(short).join(",") });
  };
  const turn = (dx: number, dy: number) => setAngles([yaw + dx, Math.max(-90, Math.min(90, pitch + dy))]);
  useEffect(() => {
    const settle = setTimeout(() => solid && change({ yaw: yaw.toFixed(0), pitch: pitch.toFixed(0) }, true), 300);
    return () => clearTimeout(settle);
  }, [solid, yaw, pitch]);
  const taking = { domain: place, toggle, down: new Set(down) };
  const chips = wiring.parts.filter((part) => part.kind === "chip");
  const own = wiring.wires.filter((wire) => wire.a === from || wire.b === from);

  return (
    <article>
      <header class="title">
        <h1>{place}</h1>
        <p>
          {domain.model}, {domain.wiring}: {number(chips.length)} chips in {number(domain.servers.nodes.length)}{" "}
          {domain.servers.nodes.length === 1 ? "server" : "servers"};{" "}
          {[...new Map(domain.servers.nodes.map((server) => [server.rack.address, server.rack])).keys()].map(
            (rack, at) => (
              <span key={rack}>
                {at > 0 && ", "}
                <a href={href("rack", rack)}>rack {rack.split("/r")[1]}</a>
              </span>
            ),
          )}
        </p>
        <div class="tools">
          <Copy asked={[asked, ...answers.asked]} />
          <Download name={place} picture={drawn("wiring")} />
        </div>
      </header>
      <p class="hint">
        <strong>Click two chips</strong> to see what links them. <strong>Shift-click</strong> a chip, link or switch to
        take it down and see what changes.
      </p>
      <div class="split">
        <section aria-label="Wiring">
          <div class="tools">
            <Choice name="Show" of={SHOWN} chosen={show} choose={(value) => change({ show: value })} />
            {wiring.wiring === "torus" && (
              <Choice
                name="View"
                of={{ "2d": "2D", "3d": "3D" }}
                chosen={solid ? "3d" : "2d"}
                choose={(value) =>
                  change({ view: value === "3d" ? value : undefined, yaw: undefined, pitch: undefined })
                }
              />
            )}
            {solid && <Turning turn={turn} />}
            <label class="toggle">
              <input type="checkbox" checked={breaking} onChange={() => setBreaking(!breaking)} />
              <span>A click takes down</span>
            </label>
          </div>
          <WiringPicture
            id="wiring"
            wiring={wiring}
            layout={layout}
            marks={marksOf(show, answers, from)}
            chosen={[from, to].filter(Boolean)}
            down={taking.down}
            pick={pick}
            toggle={toggle}
            breaking={breaking}
            turn={solid ? (dx, dy) => turn(dx / 2, dy / 2) : undefined}
          />
          <Legend wiring={wiring} show={show} />
          <div class="below">
            <div class="card">
              <h2>Bisection of {place}</h2>
              <Shown of={answers.halves}>{(halves) => <Bisection halves={halves} />}</Shown>
            </div>
            {from && (
              <div class="card">
                <h2>Memory pool of {short(from)}</h2>
                <Shown of={answers.pool}>{(pool) => <MemoryPool pool={pool} from={from} id="rings" />}</Shown>
              </div>
            )}
          </div>
        </section>
        <section class="answers" aria-label="Answers">
          <div class="ends">
            <End name="From" of={from && short(from)} chips={chips.map((chip) => short(chip.address))} set="from" />
            <End name="To" of={to && short(to)} chips={chips.map((chip) => short(chip.address))} set="to" />
          </div>
          {down.length > 0 && (
            <div class="card down">
              <h2>Supposed down</h2>
              <ul class="chips">
                {down.map((address) => (
                  <li key={address}>
                    {short(address)} <TakeDown address={address} taking={taking} />
                  </li>
                ))}
              </ul>
              <button type="button" onClick={() => change({ down: undefined })}>
                Bring all back
              </button>
            </div>
          )}
          {from && to && (
            <div class="card">
              <h2>
                {short(from)} to {short(to)}
              </h2>
              <Shown of={answers.pair}>{(pair) => <Between pair={pair} taking={taking} />}</Shown>
            </div>
          )}
          {from && (
            <details class="card">
              <summary>
                The {number(own.length)} links of {short(from)}
              </summary>
              <LinkTable
                links={own.map((wire) => ({
                  address: wire.address,
                  says: `${number(wire.now)} GB/s, ${wire.technology}`,
                }))}
                taking={taking}
              />
              <TakeDown address={from} taking={taking} />
            </details>
          )}
        </section>
      </div>
    </article>
  );
}

function End({ name, of, chips, set }: { name: string; of: string; chips: string[]; set: string }) {
  return (
    <label>
      {name}{" "}
      <select value={of} onChange={(event) => change({ [set]: event.currentTarget.value || undefined })}>
        <option value="">choose a chip</option>
        {chips.map((chip) => (
          <option key={chip} value={chip}>
            {chip}
          </option>
        ))}
      </select>
    </label>
  );
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

function Legend({ wiring, show }: { wiring: Wiring; show: Show }) {
  return (
    <ul class="legend">
      {bandwidths(wiring).map((bandwidth, at) => (
        <li key={bandwidth}>
          <span class={`swatch line w${at % 4}`} />{" "}
          {[...new Set(wiring.wires.filter((wire) => wire.nominal === bandwidth).map((wire) => wire.technology))].join(
            ", ",
          )}{" "}
          {number(bandwidth)} GB/s one direction
        </li>
      ))}
      {show === "bisection" && (
        <li>
          <span class="swatch side" /> one half
        </li>
      )}
      {wiring.wiring === "torus" && <li>short ends: a link that wraps around</li>}
      <li>
        <span class="swatch off" /> down
      </li>
      <li>numbers: devices as neuron-ls has them</li>
    </ul>
  );
}
