// The answers beside the picture, each before and after what is supposed.
import type { ComponentChildren } from "preact";
import { type Ring, Rings } from "../drawing/rings";
import { Change } from "../parts";
import { below, counted, gibibytes, gigabytes, grounds, number } from "../words";
import type { Flow, Halves, Pair, Pool, Rests, Supposed, Ways } from "./documents";

export interface Taking {
  domain: string;
  toggle: (address: string) => void;
  down: Set<string>;
}

export function TakeDown({ address, taking }: { address: string; taking: Taking }) {
  const gone = taking.down.has(address);
  return (
    <button type="button" class="small" aria-pressed={gone} onClick={() => taking.toggle(address)}>
      {gone ? "Bring back" : "Take down"}
      <span class="unseen"> {below(taking.domain, address)}</span>
    </button>
  );
}

export function Between({ pair, taking }: { pair: Pair; taking: Taking }) {
  const { shortest, widest, bandwidth } = pair;
  return (
    <>
      <dl class="figures">
        <Figure name="Shortest path" of={shortest} show={hops} />
        <Figure name="Its narrowest link" of={shortest} show={narrowest} />
        <Figure
          name="Widest path"
          of={widest}
          show={(of) => (of.reachable ? `${narrowest(of)}, ${hops(of)}` : "none")}
        />
        <Figure name="Maximum flow, all paths" of={bandwidth} show={(of) => gigabytes(of.maximumFlow)} />
        <Figure name="Minimum cut" of={bandwidth} show={(of) => counted(of.minimumCut.totalCount, "link")} />
      </dl>
      <p class="quiet">Bandwidths are of one direction.</p>
      {shortest.reachable ? (
        <Steps ways={shortest} taking={taking} />
      ) : (
        <p class="failure">No path: {shortest.reason}</p>
      )}
      <Cut name="The links of the minimum cut" links={bandwidth.minimumCut.nodes} taking={taking} />
      <Grounds of={[shortest, bandwidth]} />
    </>
  );
}

const hops = (of: Ways) => (of.reachable ? counted(of.paths[0]?.hops ?? 0, "hop") : "none");
const narrowest = (of: Ways) => {
  const path = of.paths[0];
  return path?.bandwidth ? gigabytes(path.bandwidth) : "none";
};

function Figure<T>({ name, of, show }: { name: string; of: Supposed<T>; show: (of: T) => string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Change now={show(of)} before={of.baseline ? show(of.baseline) : undefined} />
      </dd>
    </div>
  );
}

function Steps({ ways, taking }: { ways: Ways; taking: Taking }) {
  const links = ways.paths[0]?.steps.filter((step) => step.kind === "link") ?? [];
  return (
    <details open>
      <summary>
        The links of the shortest path{ways.equallyGood > 1 ? ` (one of ${number(ways.equallyGood)} as short)` : ""}
      </summary>
      <LinkTable
        links={links.map((step) => ({ address: step.address, says: step.bandwidth ? gigabytes(step.bandwidth) : "" }))}
        standing={ways.standing}
        taking={taking}
      />
    </details>
  );
}

function Cut({ name, links, taking }: { name: string; links: Carrying[]; taking: Taking }) {
  return (
    <details>
      <summary>{name}</summary>
      <LinkTable
        links={links.map((link) => ({ address: link.address, says: gigabytes(link.bandwidth) }))}
        taking={taking}
      />
    </details>
  );
}

interface Carrying {
  address: string;
  bandwidth: { gigabytesPerSecond: number };
}

interface LinkTableProps {
  links: { address: string; says: string }[];
  standing?: { server: string; instance: string | null; host: string | null }[];
  taking: Taking;
}

export function LinkTable({ links, standing = [], taking }: LinkTableProps) {
  const there = (link: string) =>
    standing.filter(({ server }) => link.split("--").some((end) => end.startsWith(`${server}/`)));
  return (
    <table>
      <thead>
        <tr>
          <th>Link</th>
          <th>One direction</th>
          {standing.length > 0 && <th>Stands there</th>}
          <th>
            <span class="unseen">Change</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={link.address}>
            <td>{below(taking.domain, link.address).replace("--", " – ")}</td>
            <td>{link.says}</td>
            {standing.length > 0 && (
              <td>
                {there(link.address)
                  .map((each) => each.host ?? each.instance)
                  .join(" – ")}
              </td>
            )}
            <td>
              <TakeDown address={link.address} taking={taking} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Bisection({ halves, taking }: { halves: Supposed<Halves>; taking: Taking }) {
  const bounds = (of: Halves) =>
    of.exact ? gigabytes(of.upper) : `${number(of.lower.gigabytesPerSecond)} to ${gigabytes(of.upper)}`;
  return (
    <>
      <dl class="figures">
        <Figure name="Bisection bandwidth" of={halves} show={bounds} />
        <Figure name="Links cut" of={halves} show={(of) => number(of.cut.totalCount)} />
        <Figure name="Halves" of={halves} show={(of) => `${of.sideA} and ${of.sideB} chips`} />
      </dl>
      <p class="quiet">
        {halves.exact ? "Exact" : "Between these bounds"}, one direction; by {halves.method}.
      </p>
      <Cut name="The links cut" links={halves.cut.nodes} taking={taking} />
      <Grounds of={[halves]} />
    </>
  );
}

export function MemoryPool({ pool, from, id }: { pool: Supposed<Pool>; from: string; id: string }) {
  const rings: Ring[] = pool.byHops.map((ring) => ({
    hops: ring.hops,
    chips: ring.reached.map((chip) => chip.address),
    says: `${counted(ring.hops, "hop")}: ${counted(ring.chips, "chip")}, ${gibibytes(ring.memory)}`,
  }));
  return (
    <>
      <dl class="figures">
        <Figure name="Memory within reach" of={pool} show={(of) => gibibytes(of.memory)} />
        <Figure name="On" of={pool} show={(of) => counted(of.chips, "chip")} />
      </dl>
      <div class="pool">
        <Rings id={id} own={from} rings={rings} />
        <table>
          <thead>
            <tr>
              <th>Hops</th>
              <th>Chips</th>
              <th>Memory</th>
              <th>Delivers</th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <td>
                <span class="swatch hop h0" /> 0
              </td>
              <td>own</td>
              <td>{gibibytes(pool.own)}</td>
              <td />
            </tr>
            {pool.byHops.map((ring) => (
              <tr key={ring.hops}>
                <td>
                  <span class={`swatch hop h${Math.min(ring.hops, 6)}`} /> {ring.hops}
                </td>
                <td>{ring.chips}</td>
                <td>{gibibytes(ring.memory)}</td>
                <td>{gigabytes(ring.delivery)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Grounds of={[pool]} />
    </>
  );
}

interface Grounded {
  definition: string;
  disputed: boolean;
  facts: Rests[];
}

/** What an answer means and rests on. */
function Grounds({ of }: { of: (Supposed<Flow> | Supposed<Ways> | Supposed<Halves> | Supposed<Pool> | Grounded)[] }) {
  const facts = new Map(
    of.flatMap((answer) => answer.facts.map((fact) => [`${fact.subject} ${fact.attribute}`, fact])),
  );
  return (
    <details>
      <summary>
        What this means and rests on{of.some((answer) => answer.disputed) && <Mark> sources disagree</Mark>}
      </summary>
      {of.map((answer) => (
        <p key={answer.definition}>{answer.definition}.</p>
      ))}
      <ul>
        {[...facts].map(([name, fact]) => (
          <li key={name}>
            {name.replaceAll("_", " ")}: <strong>{fact.value}</strong>, {fact.source.title}: {grounds(fact)}
            {fact.disputed && <p class="disputed">{fact.note}</p>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Mark({ children }: { children: ComponentChildren }) {
  return <span class="mark"> ⚠{children}</span>;
}
