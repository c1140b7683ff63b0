// The panel of one part: state with reason, time and author; properties, links and history.
import { makeQuery, type Result, useQuery } from "../api";
import { describeEvent, EventGlyph } from "../events";
import { Unapplied } from "../incidents/unapplied";
import { useAsOf } from "../live";
import { Change, CopyQueries, Loading, Reason } from "../parts";
import { href } from "../route";
import { formatDateTime, formatDuration, Glyph, shownTime, stateWord } from "../state";
import { gibibytes, gigabytes, number, pluralize, relativeTo, shortenAddress } from "../words";
import { Actions } from "./actions";
import { PANEL, type PanelPart, type PartEvent, type Wire } from "./documents";

const KINDS: Record<string, string> = { NetworkNode: "Network node", Nic: "NIC" };

export function Panel({ address, close }: { address: string; close?: () => void }) {
  const query = makeQuery(PANEL, { address });
  return (
    <aside class="panel" aria-label={`About ${address}`}>
      <Loading result={useQuery(query)}>
        {({ resolve: thing, incidents, unappliedFindingCount }) =>
          "state" in thing ? (
            <Opened part={thing as PanelPart} incidents={incidents} unapplied={unappliedFindingCount} close={close}>
              <CopyQueries queries={[query]} />
            </Opened>
          ) : (
            <p class="card">
              {thing.address} has no state of its own. <a href={href("at", thing.address)}>Open it</a>
            </p>
          )
        }
      </Loading>
    </aside>
  );
}

type Incidents = Result<typeof PANEL>["incidents"];

interface Props {
  part: PanelPart;
  incidents: Incidents;
  unapplied: number;
  close: (() => void) | undefined;
  children: preact.ComponentChildren;
}

function Opened({ part, incidents, unapplied, close, children }: Props) {
  const links = "links" in part ? part.links : null;
  return (
    <>
      <section class="card flush">
        <h2>
          <Glyph state={part.state} />
          <span class="name">
            {KINDS[part.__typename] ?? part.__typename} {shortenAddress(part.address)}
          </span>
          {close && (
            <button type="button" class="square" aria-label="Close" onClick={close}>
              <span aria-hidden="true">×</span>
            </button>
          )}
        </h2>
        <Why part={part} incidents={incidents} />
        {unapplied > 0 && (
          <p class="inner">
            <Unapplied count={unapplied} scope={part.address} />
          </p>
        )}
        <Actions part={part} domain={domainOf(part.address)} />
        <dl class="figures inner">
          <Facts part={part} />
        </dl>
        <div class="inner row">
          {domainOf(part.address) && (
            <a
              class="button"
              href={href("domain", domainOf(part.address), { sel: relativeTo(domainOf(part.address), part.address) })}
            >
              Show in wiring
            </a>
          )}
          {children}
        </div>
      </section>
      {links && <LinkList part={part} all={links.totalCount} wires={links.nodes} />}
      {part.__typename === "Server" && <Chips server={part} />}
      <History all={part.events.totalCount} events={part.events.nodes} address={part.address} />
    </>
  );
}

/** The domain that contains an address; empty: none. */
export const domainOf = (address: string) => /^[^/@]+\/d\d+(?=\/|--|$)/.exec(address)?.[0] ?? "";

function Why({ part, incidents }: { part: PanelPart; incidents: Incidents }) {
  const { asof } = useAsOf();
  const last = part.lastChange;
  if (part.state === "up")
    return (
      <p class="inner quiet">
        Up
        {last && (
          <>
            {" since "}
            <span class="nowrap">{formatDateTime(last.at)}</span>
            {`, ${last.who}: ${last.why}`}
          </>
        )}
      </p>
    );
  const incident = incidents.nodes[0];
  return (
    <div class={`band ${part.state}`}>
      <strong>
        <Reason text={last?.why ?? incident?.why ?? "No reason given"} />
      </strong>
      <span>
        {part.state}
        {part.factor !== null && ` at ${number(100 * part.factor)} %`}
        {last && (
          <>
            {" since "}
            <span class="nowrap">{formatDateTime(last.at)}</span>
            {`, ${formatDuration(last.at, shownTime(asof))}`}
          </>
        )}
      </span>
      {last && (
        <span>
          set by {last.who}
          {last.cascaded && part.__typename !== "Server" && ", together with its server"}
        </span>
      )}
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

function InstanceFacts({ server }: { server: { address: string; instance: string | null; host: string | null } }) {
  return (
    <>
      <Fact name="Instance">{server.instance ?? (server.host ? "not known" : "none bound (design only)")}</Fact>
      <Fact name="Host">{server.host}</Fact>
    </>
  );
}

/** The failed end because of which a link carries nothing. */
function failedEnds({ a, b }: Extract<PanelPart, { __typename: "Link" }>): string {
  const off = [a, b].filter((end) => "state" in end && (end.state === "down" || end.state === "maintenance"));
  return off.map((end) => `${end.address} is ${"state" in end ? stateWord(end.state) : ""}`).join(", ");
}

const WITHOUT_JOB = { allocated: "allocated", free: "none, free", unusable: "none, unusable" };

function Facts({ part }: { part: PanelPart }) {
  const server = "server" in part ? part.server : "within" in part ? part.within : null;
  return (
    <>
      {part.__typename === "Chip" && (
        <>
          <Fact name="Model">
            {part.model.name}
            {part.tray !== null && `, tray ${part.tray}`}
          </Fact>
          <Fact name="Cores">
            {number(part.cores.totalCount)} × {part.model.coreModel}
          </Fact>
          <Fact name="HBM">
            {gibibytes(part.memory)}, {gigabytes(part.memoryBandwidth)}
          </Fact>
          <Fact name="Job">
            {part.job ? <a href={href("jobs", "", { sel: part.job })}>{part.job}</a> : WITHOUT_JOB[part.use]}
          </Fact>
        </>
      )}
      {part.__typename === "Server" && (
        <>
          <Fact name="Model">{part.serverModel}</Fact>
          <Fact name="Host memory">
            {gibibytes(part.hostMemory)}, {pluralize(part.vcpus, "vCPU")}
          </Fact>
          <InstanceFacts server={part} />
          <Fact name="Domain">{<a href={href("domain", part.domain.address)}>{part.domain.address}</a>}</Fact>
        </>
      )}
      {part.__typename === "Switch" && <Fact name="Model">{part.switchModel?.name ?? "not documented"}</Fact>}
      {part.__typename === "NetworkNode" && (
        <>
          <Fact name="Tier">{part.tier}</Fact>
          <Fact name="ID">{part.vendorId}</Fact>
        </>
      )}
      {part.__typename === "Nic" && <Fact name="Bandwidth">{gigabytes(part.bandwidth)}</Fact>}
      {part.__typename === "Link" && (
        <>
          <Fact name="Bandwidth">
            <Change now={gigabytes(part.bandwidth)} before={gigabytes(part.nominal)} />
          </Fact>
          <Fact name="Cause">{part.bandwidth.gigabytesPerSecond === 0 && failedEnds(part)}</Fact>
          <Fact name="Technology">{part.technology}</Fact>
          <Fact name="From">{place(part.a.address)}</Fact>
          <Fact name="To">{place(part.b.address)}</Fact>
        </>
      )}
      {server && (
        <>
          <Fact name="Server">{place(server.address)}</Fact>
          <InstanceFacts server={server} />
        </>
      )}
      {"rack" in part && part.rack && (
        <Fact name="Rack">
          <a href={href("rack", part.rack.address)}>{part.rack.address}</a>
        </Fact>
      )}
    </>
  );
}

function LinkList({ part, all, wires }: { part: PanelPart; all: number; wires: Wire[] }) {
  const domain = domainOf(part.address);
  const idle = wires.filter((wire) => wire.bandwidth.gigabytesPerSecond === 0).length;
  return (
    <section class="card flush" aria-label="Links">
      <h2>
        {pluralize(all, "link")}
        {idle > 0 && <span class="quiet">{idle === all ? "all idle" : `${number(idle)} idle`}</span>}
      </h2>
      <ul class="rows tight">
        {wires.map((wire) => {
          const other = wire.a.address === part.address ? wire.b.address : wire.a.address;
          return (
            <li key={wire.address}>
              <a href={href("at", wire.address)}>
                <Glyph state={wire.bandwidth.gigabytesPerSecond === 0 ? "down" : wire.state} />
                <span>{domain ? relativeTo(domain, other) : other}</span>
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

function Chips({ server }: { server: Extract<PanelPart, { __typename: "Server" }> }) {
  const parts = [...server.chips.nodes, ...server.nics.nodes];
  return (
    <section class="card flush" aria-label="Parts">
      <h2>
        {pluralize(server.chips.totalCount, "chip")}, {pluralize(server.nics.totalCount, "NIC")}
      </h2>
      <ul class="tags">
        {parts.map((part) => (
          <li key={part.address}>
            <a href={href("at", part.address)} title={part.state}>
              <Glyph state={part.state} />
              {relativeTo(server.address, part.address)}
              <span class="unseen"> {part.state}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function History({ all, events, address }: { all: number; events: PartEvent[]; address: string }) {
  return (
    <section class="card flush" aria-label="History">
      <h2>
        History <span class="quiet">{pluralize(all, "event")}</span>
      </h2>
      {!events.length && <p class="inner quiet">No events.</p>}
      <ul class="rows tight">
        {[...events].reverse().map((event) => (
          <li key={event.event}>
            <a href={href("at", address, { asof: event.event })}>
              <EventGlyph event={event} />
              <span>
                {describeEvent(event)}, <span class="nowrap">{formatDateTime(event.at)}</span>
                <span class="quiet">
                  <Reason text={event.why} /> · {event.who}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
