// The page of a server: its state, chips, NICs, links, place and history.
import { makeQuery, type Query, useQuery } from "../api";
import { Metric } from "../domain/metric";
import { useNarrow } from "../domain/wiring";
import { CopyQueries, JobLinks, Loading } from "../parts";
import { href } from "../route";
import { Glyph, STATES, StateLabel, stateWord } from "../state";
import "../style/domainpages.css";
import "../style/part.css";
import { gibibytes, number, pluralize, relativeTo } from "../words";
import { Band } from "./band";
import { ownChange } from "./changes";
import { SERVER, type ServerAnswer, type ServerPart } from "./documents";
import { History } from "./history";
import { IdleSign } from "./links";
import { PartCost } from "./loss";
import { linkSums } from "./sums";
import { Where } from "./where";
import { ServerWiring } from "./wiring";

export function ServerView({ address }: { address: string }) {
  const domain = address.replace(/\/s\d+$/, "");
  const query = makeQuery(SERVER, { address, domain, inside: `${address}/`, narrow: useNarrow() });
  return (
    <Loading result={useQuery(query)} page={address}>
      {(answer) =>
        "vcpus" in answer.resolve ? (
          <Opened answer={answer} server={answer.resolve as ServerPart} query={query} />
        ) : null
      }
    </Loading>
  );
}

function Opened({ answer, server, query }: { answer: ServerAnswer; server: ServerPart; query: Query }) {
  const { address, state, domain } = server;
  const [chips, nics] = [server.chips.nodes, server.nics.nodes];
  const short = relativeTo(domain.address, address);
  const idle = answer.idleLinks.totalCount;
  return (
    <article class="domain part">
      <header class="title">
        <h1>{address}</h1>
        <div class="states">
          <StateLabel state={state}>{stateWord(state)}</StateLabel>
        </div>
        <p>
          {server.model} server · {pluralize(chips.length, "chip")}, {pluralize(nics.length, "NIC")}
        </p>
        <div class="tools">
          <a class="button" href={href("domain", domain.address, { sel: short })}>
            Show in wiring
          </a>
          <CopyQueries queries={[query]} />
        </div>
      </header>
      <Band
        part={server}
        last={ownChange(answer.events.nodes, address)}
        domain={domain.address}
        incident={answer.incidents.nodes[0]?.id}
        unapplied={answer.unappliedFindingCount}
        jobs={jobsOf(server)}
        lost={lostOf(server, answer.nicLinks.totalCount)}
      >
        {state === "up" ? <Failed server={server} /> : withIt(server)}
        {answer.cordons.nodes.map((cordon) => ` Cordoned by ${cordon.who}: ${cordon.why}.`)}
      </Band>
      <div class="part-columns">
        <section class="card flush stretched" aria-label="Chips">
          <CountTitle name="Chips" states={chips.map((chip) => chip.state)}>
            <a class="more" href={href("domain", domain.address)}>
              Open {relativeTo(domain.address.split("/")[0] ?? "", domain.address)}
            </a>
          </CountTitle>
          <ServerWiring server={server} placed={answer.layout} />
        </section>
        <div class="part-side">
          <section class="card flush" aria-label="NICs and links">
            <CountTitle name="NICs and links" noun="NIC" states={nics.map((nic) => nic.state)} />
            {nics.length > 0 && (
              <ul class="nics inner">
                {nics.map((nic) => (
                  <li key={nic.address}>
                    <a class={nic.state} href={href("at", nic.address)} title={`${nic.address}, ${nic.state}`}>
                      <Glyph state={nic.state} />
                      <span class="unseen">{nic.state} NIC </span>
                      {nic.ordinal}
                    </a>
                  </li>
                ))}
              </ul>
            )}
            <div class="inner">
              <h3>
                Links, GB/s one direction
                {idle > 0 && (
                  <span class="idle-links">
                    <IdleSign /> {number(idle)} of {number(answer.allLinks.totalCount)} idle
                  </span>
                )}
              </h3>
              <dl class="figures">
                {linkSums(server, answer.nicLinks.totalCount).map(({ name, before, now }) => (
                  <Metric key={name} name={name} before={before} now={now} unit="GB/s" />
                ))}
              </dl>
            </div>
          </section>
          {state !== "up" && <PartCost scope={address} domain={domain.address} />}
        </div>
        <div class="part-side tall">
          <Where server={server} />
          <Instance server={server} />
        </div>
        <History events={answer.events} place={address} jobs={jobsOf(server)} />
      </div>
    </article>
  );
}

const jobsOf = ({ chips }: ServerPart) => [...new Set(chips.nodes.flatMap(({ job }) => job ?? []))];

/** What an unhealthy server takes from its jobs and its domain: 16 chips, 6,544 GB/s of NeuronLinks and EFA links. */
function lostOf(server: ServerPart, nicLinks: number): string {
  const chips = server.chips.nodes.filter(({ state }) => state === "down" || state === "maintenance").length;
  const bandwidth = linkSums(server, nicLinks).reduce((sum, { before, now }) => sum + before - now, 0);
  return [chips && pluralize(chips, "chip"), bandwidth && `${number(bandwidth)} GB/s of its NeuronLinks and EFA links`]
    .filter(Boolean)
    .join(", ");
}

/** The unhealthy parts of a server that is up, the first of them with its reason. */
function Failed({ server }: { server: ServerPart }) {
  const chips = server.chips.nodes.filter(({ state }) => state !== "up");
  const nics = server.nics.nodes.filter(({ state }) => state !== "up");
  const few = [...chips, ...nics].slice(0, 3);
  return (
    <>
      {few.map((part) => (
        <span key={part.address} class="failed">
          <Glyph state={part.state} /> <a href={href("at", part.address)}>{relativeTo(server.address, part.address)}</a>{" "}
          is {stateWord(part.state)}
          {"lastChange" in part && part.lastChange && `: ${part.lastChange.why}`}.{" "}
        </span>
      ))}
      {chips.length + nics.length > 3 && `${number(chips.length + nics.length - 3)} more parts are not up.`}
    </>
  );
}

/** What is in its state with the server: 16 chips and 16 NICs are down with it. */
function withIt({ state, chips, nics }: ServerPart): string {
  const count = (parts: { state: string }[]) => parts.filter((part) => part.state === state).length;
  const parts = [
    [count(chips.nodes), "chip"],
    [count(nics.nodes), "NIC"],
  ] as const;
  const words = parts.filter(([all]) => all > 0).map(([all, noun]) => pluralize(all, noun));
  const all = parts.reduce((sum, [count]) => sum + count, 0);
  return words.length ? `${words.join(" and ")} ${all === 1 ? "is" : "are"} ${stateWord(state)} with it.` : "";
}

interface CountTitleProps {
  name: string;
  /** What is counted, if the name says more. */
  noun?: string;
  states: string[];
  children?: preact.ComponentChildren;
}

/** A heading with the numbers of unhealthy parts: Chips ✕ 16 of 16 down. */
function CountTitle({ name, noun, states, children }: CountTitleProps) {
  const count = noun ? pluralize(states.length, noun) : number(states.length);
  const bad = STATES.filter((state) => state !== "up" && states.includes(state));
  return (
    <h2>
      {name}{" "}
      {bad.map((state) => (
        <StateLabel key={state} state={state}>
          {number(states.filter((other) => other === state).length)} of {count} {stateWord(state)}
        </StateLabel>
      ))}
      {!bad.length && <span class="quiet">{states.length ? `${count}, all up` : "none"}</span>}
      {children}
    </h2>
  );
}

function Instance({ server }: { server: ServerPart }) {
  const jobs = jobsOf(server);
  const free = server.chips.nodes.filter(({ use }) => use === "free").length;
  return (
    <section class="card flush" aria-label="Instance and job">
      <h2>Instance and job</h2>
      <dl class="figures inner">
        <div>
          <dt>{jobs.length > 1 ? "Jobs" : "Job"}</dt>
          <dd>
            <JobLinks jobs={jobs} none="none" />
          </dd>
        </div>
        <div>
          <dt>Free chips</dt>
          <dd>{number(free)}</dd>
        </div>
        <div>
          <dt>Host</dt>
          <dd>{server.host ?? "not known"}</dd>
        </div>
        <div>
          <dt>Instance</dt>
          <dd>{server.instance ?? (server.host ? "not known" : "none bound (design only)")}</dd>
        </div>
        <div>
          <dt>Model</dt>
          <dd>{server.model}</dd>
        </div>
        <div>
          <dt>Host memory</dt>
          <dd>{gibibytes(server.hostMemory)}</dd>
        </div>
        <div>
          <dt>vCPUs</dt>
          <dd>{number(server.vcpus)}</dd>
        </div>
      </dl>
    </section>
  );
}
