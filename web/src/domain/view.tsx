// One domain: its wiring, two chips and all that is between them, and what happens when something is down.
import { useMemo } from "preact/hooks";
import { type Asked, asking, useAsked } from "../api";
import type { Wiring } from "../drawing/layout";
import { Copy, Download, drawn, Shown } from "../parts";
import { change, href, type Route } from "../route";
import { Timeline } from "../timeline";
import { below, counted, number, within } from "../words";
import { Between, Bisection, LinkTable, MemoryPool, TakeDown, type Taking } from "./answers";
import { useAnswers } from "./asked";
import { WIRING } from "./documents";
import { named } from "./down";
import { useKeys } from "./keys";
import { Picture } from "./picture";
import { type Domain, type Placed, useNarrow, wiringOf } from "./wired";

export function DomainView({ route }: { route: Route }) {
  const narrow = useNarrow();
  const asked = asking(WIRING, { at: route.of, narrow });
  return (
    <Shown of={useAsked(asked)} page={route.of}>
      {(data) => {
        const domain = data.resolve;
        if (!("wiring" in domain)) return <p class="failure">{route.of} is no domain.</p>;
        return <Opened domain={domain} placed={data.layout} route={route} asked={asked} narrow={narrow} />;
      }}
    </Shown>
  );
}

interface OpenedProps {
  domain: Domain;
  placed: Placed;
  route: Route;
  asked: Asked;
  narrow: boolean;
}

function Opened({ domain, placed, route, asked, narrow }: OpenedProps) {
  const place = domain.address;
  const { options } = route;
  const wiring = useMemo(() => wiringOf(domain, placed), [domain, placed]);
  const from = options.from ? within(place, options.from.toLowerCase()) : "";
  const to = options.to ? within(place, options.to.toLowerCase()) : "";
  const down = useMemo(() => named(wiring, options.down), [wiring, options.down]);
  const answers = useAnswers(place, from, to, down);
  const toggle = (address: string) => {
    const next = down.includes(address) ? down.filter((each) => each !== address) : [...down, address];
    change({ down: next.map((each) => below(place, each)).join(",") || undefined });
  };
  useKeys(route, from, to, toggle);
  const taking: Taking = { domain: place, toggle, down: new Set(down) };
  return (
    <article>
      <Heading domain={domain} wiring={wiring} asked={[...answers.asked, asked]} />
      <p class="hint">
        <strong>Click two chips</strong> to see what links them. <strong>Shift-click</strong> a chip, link or switch to
        take it down and see what changes; by touch, tick <em>A click takes down</em>.
      </p>
      <Ends wiring={wiring} from={from} to={to} />
      <div class="split">
        <section aria-label="Wiring">
          <Picture
            wiring={wiring}
            answers={answers}
            ends={[from, to]}
            taking={taking}
            options={options}
            narrow={narrow}
          />
          <Timeline of={place} span={options.span} />
          <div class="below">
            <div class="card">
              <h2>Bisection of {place}</h2>
              <Shown of={answers.halves}>{(halves) => <Bisection halves={halves} taking={taking} />}</Shown>
            </div>
            {from && (
              <div class="card">
                <h2>Memory pool of {below(place, from)}</h2>
                <Shown of={answers.pool}>{(pool) => <MemoryPool pool={pool} from={from} id="rings" />}</Shown>
              </div>
            )}
          </div>
        </section>
        <section class="answers" aria-label="Answers">
          {down.length > 0 && <Down taking={taking} />}
          {from && to && (
            <div class="card">
              <h2>
                {below(place, from)} to {below(place, to)}
              </h2>
              <Shown of={answers.pair}>{(pair) => <Between pair={pair} taking={taking} />}</Shown>
            </div>
          )}
          {from && <OwnLinks wiring={wiring} from={from} taking={taking} />}
        </section>
      </div>
    </article>
  );
}

function Heading({ domain, wiring, asked }: { domain: Domain; wiring: Wiring; asked: Asked[] }) {
  const chips = wiring.parts.filter((part) => part.kind === "chip").length;
  const racks = [...new Set(domain.servers.nodes.map((server) => server.rack.address))];
  return (
    <header class="title">
      <h1>{domain.address}</h1>
      <p>
        {domain.model}, {domain.wiring}: {counted(chips, "chip")} in {counted(domain.servers.nodes.length, "server")};{" "}
        {racks.map((rack, at) => (
          <span key={rack}>
            {at > 0 && ", "}
            <a href={href("rack", rack)}>rack {rack.split("/r")[1]}</a>
          </span>
        ))}
      </p>
      <div class="tools">
        <Copy asked={asked} />
        <Download name={domain.address} picture={drawn("wiring")} />
      </div>
    </header>
  );
}

function Ends({ wiring, from, to }: { wiring: Wiring; from: string; to: string }) {
  const chips = wiring.parts.flatMap((part) => (part.kind === "chip" ? [below(wiring.domain, part.address)] : []));
  return (
    <div class="ends">
      <End name="From" of={from && below(wiring.domain, from)} chips={chips} set="from" />
      <End name="To" of={to && below(wiring.domain, to)} chips={chips} set="to" />
    </div>
  );
}

function Down({ taking }: { taking: Taking }) {
  return (
    <div class="card down">
      <h2>Supposed down</h2>
      <ul class="chips">
        {[...taking.down].map((address) => (
          <li key={address}>
            {below(taking.domain, address)} <TakeDown address={address} taking={taking} />
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => change({ down: undefined })}>
        Bring all back
      </button>
    </div>
  );
}

function OwnLinks({ wiring, from, taking }: { wiring: Wiring; from: string; taking: Taking }) {
  const own = wiring.wires.filter((wire) => wire.a === from || wire.b === from);
  return (
    <details class="card">
      <summary>
        The {counted(own.length, "link")} of {below(wiring.domain, from)}
      </summary>
      <LinkTable
        links={own.map((wire) => ({ address: wire.address, says: `${number(wire.now)} GB/s, ${wire.technology}` }))}
        taking={taking}
      />
      <TakeDown address={from} taking={taking} />
    </details>
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
