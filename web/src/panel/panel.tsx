// One thing: its state, why, since when and by whom; what it is, what it is joined with, what happened to it.
import { asking, type Result, useAsked } from "../api";
import { Became, became } from "../happened";
import { useTurn } from "../live";
import { Change, Copy, Shown } from "../parts";
import { href } from "../route";
import { dated, Glyph, lasted, now, worded } from "../state";
import { below, counted, gibibytes, gigabytes, number, shortened } from "../words";
import { Actions } from "./actions";
import { type Changed, PANEL, type Thing, type Wire } from "./documents";

const KINDS: Record<string, string> = { NetworkNode: "Network node", Nic: "NIC" };

export function Panel({ address, close }: { address: string; close?: () => void }) {
  const asked = asking(PANEL, { address });
  return (
    <aside class="panel" aria-label={`About ${address}`}>
      <Shown of={useAsked(asked)}>
        {({ resolve: thing, incidents }) =>
          "state" in thing ? (
            <Opened of={thing as Thing} incidents={incidents} close={close}>
              <Copy asked={[asked]} />
            </Opened>
          ) : (
            <p class="card">
              {thing.address} has no state of its own. <a href={href("at", thing.address)}>Open it</a>
            </p>
          )
        }
      </Shown>
    </aside>
  );
}

type Incidents = Result<typeof PANEL>["incidents"];

interface Props {
  of: Thing;
  incidents: Incidents;
  close: (() => void) | undefined;
  children: preact.ComponentChildren;
}

function Opened({ of, incidents, close, children }: Props) {
  const links = "links" in of ? of.links : null;
  return (
    <>
      <section class="card flush">
        <h2>
          <Glyph state={of.state} />
          <span class="name">
            {KINDS[of.__typename] ?? of.__typename} {shortened(of.address)}
          </span>
          {close && (
            <button type="button" class="square" aria-label="Close" onClick={close}>
              <span aria-hidden="true">×</span>
            </button>
          )}
        </h2>
        <Reason of={of} incidents={incidents} />
        <Actions of={of} domain={domainOf(of.address)} />
        <dl class="figures inner">
          <Facts of={of} />
        </dl>
        <div class="inner row">
          {domainOf(of.address) && (
            <a
              class="button"
              href={href("domain", domainOf(of.address), { sel: below(domainOf(of.address), of.address) })}
            >
              Show in wiring
            </a>
          )}
          {children}
        </div>
      </section>
      {links && <Neighbours of={of} all={links.totalCount} wires={links.nodes} />}
      {of.__typename === "Server" && <Chips of={of} />}
      <History all={of.events.totalCount} events={of.events.nodes} address={of.address} />
    </>
  );
}

/** The domain that holds an address; empty: none does. */
export const domainOf = (address: string) => /^[^/@]+\/d\d+(?=\/|--|$)/.exec(address)?.[0] ?? "";

function Reason({ of, incidents }: { of: Thing; incidents: Incidents }) {
  const { asof } = useTurn();
  const last = of.lastChange;
  if (of.state === "up")
    return (
      <p class="inner quiet">
        Up
        {last && ` since ${dated(last.at)}, ${last.who}: ${last.why}`}
      </p>
    );
  const incident = incidents.nodes[0];
  return (
    <div class={`band ${of.state}`}>
      <strong>{last?.why ?? incident?.why ?? "No reason given"}</strong>
      <span>
        {of.state}
        {of.factor !== null && ` at ${number(100 * of.factor)} %`}
        {last && ` since ${dated(last.at)}, ${lasted(last.at, now(asof))} · ${last.who}`}
        {last?.takenAlong && ", together with its server"}
      </span>
      {incident && (
        <a href={href("incidents", "", { sel: incident.id })}>
          Incident {incident.id}: {incident.place}
        </a>
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return children === null || children === undefined || children === "" || children === false ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const place = (address: string) => <a href={href("at", address)}>{address}</a>;

function Standing({ of }: { of: { address: string; instance: string | null; host: string | null } }) {
  return (
    <>
      <Fact name="Instance">{of.instance ?? "none bound (design only)"}</Fact>
      <Fact name="Host">{of.host}</Fact>
    </>
  );
}

/** Which of a link's ends let it carry nothing. */
function faults({ a, b }: Extract<Thing, { __typename: "Link" }>): string {
  const off = [a, b].filter((end) => "state" in end && (end.state === "down" || end.state === "maintenance"));
  return off.map((end) => `${end.address} is ${"state" in end ? worded(end.state) : ""}`).join(", ");
}

const WITHOUT_JOB = { allocated: "allocated", free: "none, free", unusable: "none, unusable" };

function Facts({ of }: { of: Thing }) {
  const server = "server" in of ? of.server : "within" in of ? of.within : null;
  return (
    <>
      {of.__typename === "Chip" && (
        <>
          <Fact name="Model">
            {of.model.name}
            {of.tray !== null && `, tray ${of.tray}`}
          </Fact>
          <Fact name="Cores">
            {number(of.cores.totalCount)} × {of.model.coreModel}
          </Fact>
          <Fact name="HBM">
            {gibibytes(of.memory)}, {gigabytes(of.memoryBandwidth)}
          </Fact>
          <Fact name="Job">
            {of.job ? <a href={href("jobs", "", { sel: of.job })}>{of.job}</a> : WITHOUT_JOB[of.use]}
          </Fact>
        </>
      )}
      {of.__typename === "Server" && (
        <>
          <Fact name="Model">{of.serverModel}</Fact>
          <Fact name="Host memory">
            {gibibytes(of.hostMemory)}, {counted(of.vcpus, "vCPU")}
          </Fact>
          <Standing of={of} />
          <Fact name="Domain">{<a href={href("domain", of.domain.address)}>{of.domain.address}</a>}</Fact>
        </>
      )}
      {of.__typename === "Switch" && <Fact name="Model">{of.switchModel?.name ?? "not documented"}</Fact>}
      {of.__typename === "NetworkNode" && (
        <>
          <Fact name="Tier">{of.tier}</Fact>
          <Fact name="ID">{of.vendorId}</Fact>
        </>
      )}
      {of.__typename === "Nic" && <Fact name="Bandwidth">{gigabytes(of.bandwidth)}</Fact>}
      {of.__typename === "Link" && (
        <>
          <Fact name="Bandwidth">
            <Change now={gigabytes(of.bandwidth)} before={gigabytes(of.nominal)} />
          </Fact>
          <Fact name="Cause">{of.bandwidth.gigabytesPerSecond === 0 && faults(of)}</Fact>
          <Fact name="Technology">{of.technology}</Fact>
          <Fact name="From">{place(of.a.address)}</Fact>
          <Fact name="To">{place(of.b.address)}</Fact>
        </>
      )}
      {server && (
        <>
          <Fact name="Server">{place(server.address)}</Fact>
          <Standing of={server} />
        </>
      )}
      {"rack" in of && of.rack && (
        <Fact name="Rack">
          <a href={href("rack", of.rack.address)}>{of.rack.address}</a>
        </Fact>
      )}
    </>
  );
}

function Neighbours({ of, all, wires }: { of: Thing; all: number; wires: Wire[] }) {
  const domain = domainOf(of.address);
  const idle = wires.filter((wire) => wire.bandwidth.gigabytesPerSecond === 0).length;
  return (
    <section class="card flush" aria-label="Links">
      <h2>
        {counted(all, "link")}
        {idle > 0 && <span class="quiet">{idle === all ? "all idle" : `${number(idle)} idle`}</span>}
      </h2>
      <ul class="rows tight">
        {wires.map((wire) => {
          const other = wire.a.address === of.address ? wire.b.address : wire.a.address;
          return (
            <li key={wire.address}>
              <a href={href("at", wire.address)}>
                <Glyph state={wire.bandwidth.gigabytesPerSecond === 0 ? "down" : wire.state} />
                <span>{domain ? below(domain, other) : other}</span>
                <span class="quiet">
                  <Change now={gigabytes(wire.bandwidth)} before={gigabytes(wire.nominal)} />
                </span>
              </a>
            </li>
          );
        })}
      </ul>
      {all > wires.length && <p class="inner quiet">and {number(all - wires.length)} more</p>}
    </section>
  );
}

function Chips({ of }: { of: Extract<Thing, { __typename: "Server" }> }) {
  const parts = [...of.chips.nodes, ...of.nics.nodes];
  return (
    <section class="card flush" aria-label="Parts">
      <h2>
        {counted(of.chips.totalCount, "chip")}, {counted(of.nics.totalCount, "NIC")}
      </h2>
      <ul class="tags">
        {parts.map((part) => (
          <li key={part.address}>
            <a href={href("at", part.address)} title={part.state}>
              <Glyph state={part.state} />
              {below(of.address, part.address)}
              <span class="unseen"> {part.state}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function History({ all, events, address }: { all: number; events: Changed[]; address: string }) {
  return (
    <section class="card flush" aria-label="History">
      <h2>
        History <span class="quiet">{counted(all, "event")}</span>
      </h2>
      {!events.length && <p class="inner quiet">No events.</p>}
      <ul class="rows tight">
        {[...events].reverse().map((event) => (
          <li key={event.event}>
            <a href={href("at", address, { asof: event.event })}>
              <Became event={event} />
              <span>
                {became(event)}, {dated(event.at)}
                <span class="quiet">
                  {event.why} · {event.who}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
