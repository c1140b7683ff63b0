// The page of a chip: its state, where it is, what each of its links carries, and its history.
import { useState } from "preact/hooks";
import { makeQuery, type Query, type Result, useQuery } from "../api";
import { useNarrow } from "../domain/wiring";
import { Change, CopyQueries, Loading } from "../parts";
import { href } from "../route";
import { type Column, SimpleTable } from "../simpletable";
import { Glyph, StateLabel, stateWord } from "../state";
import "../style/part.css";
import "../style/pictured.css";
import { gibibytes, gigabytes, number, pluralize, relativeTo } from "../words";
import { Band } from "./band";
import { ownChange } from "./changes";
import { CHIP, type ChipPart } from "./documents";
import { History } from "./history";
import { DomainLosses } from "./loss";
import { Where } from "./where";
import { ServerWiring } from "./wiring";

const serverOf = (address: string) => address.replace(/\/c\d+$/, "");

export function ChipView({ address }: { address: string }) {
  const query = makeQuery(CHIP, { address, server: serverOf(address), narrow: useNarrow() });
  return (
    <Loading result={useQuery(query)} page={address}>
      {(answer) =>
        "tray" in answer.resolve ? <Opened answer={answer} chip={answer.resolve as ChipPart} query={query} /> : null
      }
    </Loading>
  );
}

function Opened({ answer, chip, query }: { answer: Result<typeof CHIP>; chip: ChipPart; query: Query }) {
  const { address, state, server } = chip;
  const domain = server.domain.address;
  const short = relativeTo(domain, address);
  const { box } = answer.layout;
  // below a picture that is low stand also the chip's own facts, so that the columns are about as long
  const isLow = 2 * box.height < box.width;
  const cost = state !== "up" && (
    <section class="card flush" aria-label="What it costs">
      <h2>
        Domain <a href={href("domain", domain)}>{relativeTo(domain.split("/")[0] ?? "", domain)}</a>
        <span class="quiet">before → now</span>
      </h2>
      <div class="inner loss">
        <DomainLosses scope={address} domain={domain} />
      </div>
    </section>
  );
  return (
    <article class="domain part">
      <header class="title">
        <h1>{address}</h1>
        <div class="states">
          <StateLabel state={state}>{stateWord(state)}</StateLabel>
        </div>
        <p>
          {chip.model.name} chip · {gibibytes(chip.memory)} HBM
        </p>
        <div class="tools">
          <a class="button" href={href("domain", domain, { sel: short })}>
            Show in wiring
          </a>
          <CopyQueries queries={[query]} />
        </div>
      </header>
      <Band
        part={chip}
        last={ownChange(answer.events.nodes, address)}
        domain={domain}
        incident={answer.incidents.nodes[0]?.id}
        server={server.address}
        jobs={chip.job ? [chip.job] : []}
        lost={lostOf(chip)}
      />
      <div class="part-columns">
        <div class="part-side">
          <section class="card flush" aria-label="In its server">
            <h2>
              In server <a href={href("at", server.address)}>{relativeTo(domain, server.address)}</a>
            </h2>
            <ServerWiring server={server} placed={answer.layout} selected={address} links={chip.links.nodes} />
          </section>
          {isLow && <About chip={chip} />}
        </div>
        <div class="part-side">
          <Links chip={chip} domain={domain} />
          {cost}
        </div>
        <div class="part-side tall">
          <Where server={server} tray={chip.tray} state={state} />
          {!isLow && <About chip={chip} />}
        </div>
        <History events={answer.events} place={address} jobs={chip.job ? [chip.job] : []} />
      </div>
    </article>
  );
}

/** Links to NICs carry what NICs send, which counts as bandwidth of EFA, not of the chip, as in incidents. */
const neuronLinks = (links: ChipLink[]) => links.filter(({ scope }) => scope !== "HOST");
const carries = (links: ChipLink[]) => links.reduce((sum, { bandwidth }) => sum + bandwidth.gigabytesPerSecond, 0);
const nominal = (links: ChipLink[]) => links.reduce((sum, { nominal }) => sum + nominal.gigabytesPerSecond, 0);

/** What an unhealthy chip takes from its job and its domain: 8 cores, 96 GiB HBM, 640 GB/s of NeuronLinks. */
function lostOf({ state, cores, memory, links: { nodes } }: ChipPart): string {
  const links = neuronLinks(nodes);
  const [all, now] = [nominal(links), carries(links)];
  const parts = [
    ...(state === "degraded" ? [] : [pluralize(cores.totalCount, "core"), `${gibibytes(memory)} HBM`]),
    ...(now < all ? [`${now ? `${number(all - now)} of` : "all"} ${number(all)} GB/s of its NeuronLinks`] : []),
  ];
  return parts.join(", ");
}

const COLUMNS: Column[] = [["To"], ["State"], ["One direction", "number"]];

function Links({ chip, domain }: { chip: ChipPart; domain: string }) {
  const links = chip.links.nodes;
  const idle = links.filter(isIdle);
  const causes = new Map<string, ChipLink[]>();
  for (const link of idle) {
    const cause = whyIdle(link, domain, chip.address);
    causes.set(cause, [...(causes.get(cause) ?? []), link]);
  }
  const groups = [...causes].filter(([, links]) => links.length > 1);
  const single = links.filter((link) => !groups.some(([, links]) => links.includes(link)));
  return (
    <section class="card flush" aria-label="Links">
      <h2>
        {pluralize(links.length, "link")}
        <span class="quiet">
          {idle.length ? `${idle.length === links.length ? "all" : number(idle.length)} idle, ` : ""}
          {`NeuronLinks ${number(carries(neuronLinks(links)))} GB/s in all`}
        </span>
      </h2>
      <SimpleTable name="Links of this chip" columns={COLUMNS}>
        {groups.map(([cause, links]) => (
          <IdleLinks key={cause} cause={cause} links={links} chip={chip} domain={domain} />
        ))}
        {single.map((link) => (
          <LinkRow key={link.address} link={link} chip={chip} domain={domain} />
        ))}
      </SimpleTable>
    </section>
  );
}

interface IdleLinksProps {
  cause: string;
  links: ChipLink[];
  chip: ChipPart;
  domain: string;
}

/** Links that are idle for one cause, in one row that opens. */
function IdleLinks({ cause, links, chip, domain }: IdleLinksProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="plain opens" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {pluralize(links.length, "idle link")}
          </button>
        </th>
        <td>
          <IdleSign /> {cause}
        </td>
        <td class="number">
          <Change now="0 GB/s" before={number(nominal(links))} />
        </td>
      </tr>
      {isOpen && links.map((link) => <LinkRow key={link.address} link={link} chip={chip} domain={domain} />)}
    </>
  );
}

function LinkRow({ link, chip, domain }: { link: ChipLink; chip: ChipPart; domain: string }) {
  const peer = link.a.address === chip.address ? link.b : link.a;
  return (
    <tr>
      <th scope="row">
        <a href={href("at", peer.address)}>{relativeTo(domain, peer.address)}</a>
        <small>
          {link.technology}
          {link.cables > 1 && `, ${pluralize(link.cables, "cable")}`}
        </small>
      </th>
      <td>
        <a href={href("at", link.address)} class="state-link">
          {isIdle(link) ? <IdleSign /> : <Glyph state={isReduced(link) ? "degraded" : link.state} />}{" "}
          {isIdle(link)
            ? "idle"
            : [
                (!isReduced(link) || link.state !== "up") && stateWord(link.state),
                isReduced(link) && `at ${share(link)} %`,
              ]
                .filter(Boolean)
                .join(", ")}
        </a>
        {isIdle(link) && <small>{whyIdle(link, domain, chip.address)}</small>}
        {!isIdle(link) && isReduced(link) && <small>{whyReduced(link, chip.server.address)}</small>}
      </td>
      <td class="number">
        <Change
          now={gigabytes(link.bandwidth)}
          before={isReduced(link) ? number(link.nominal.gigabytesPerSecond) : undefined}
        />
      </td>
    </tr>
  );
}

type ChipLink = ChipPart["links"]["nodes"][number];

const isIdle = ({ bandwidth }: ChipLink) => bandwidth.gigabytesPerSecond === 0;

/** The sign of an idle link in the picture, as a cross means down. */
export const IdleSign = () => <span class="swatch line idle" />;

const isReduced = ({ bandwidth, nominal }: ChipLink) => bandwidth.gigabytesPerSecond < nominal.gigabytesPerSecond;
const share = ({ bandwidth, nominal }: ChipLink) =>
  number((100 * bandwidth.gigabytesPerSecond) / nominal.gigabytesPerSecond);

/** Whose fault it is that a link carries less than it could, if not its own: c1 is degraded. */
const whyReduced = ({ a, b }: ChipLink, server: string) =>
  [a, b]
    .filter((end) => "state" in end && end.state === "degraded")
    .map(({ address }) => `${relativeTo(server, address)} is degraded`)
    .join(", ");

/** Whose fault it is that a link carries nothing: s0/c3 is down. */
function whyIdle({ state, a, b }: ChipLink, domain: string, own: string): string {
  if (state === "down" || state === "maintenance") return `it is ${stateWord(state)}`;
  const off = [a, b].filter((end) => "state" in end && (end.state === "down" || end.state === "maintenance"));
  const cause = off.filter(({ address }) => off.length === 1 || address === own);
  const names = cause.map(
    (end) => `${relativeTo(domain, end.address)} is ${"state" in end ? stateWord(end.state) : ""}`,
  );
  return names.join(", ") || "an end is not up";
}

const WITHOUT_JOB = { allocated: "allocated", free: "none, free", unusable: "none, unusable" };

function About({ chip }: { chip: ChipPart }) {
  const facts: [string, preact.ComponentChildren][] = [
    ["Job", chip.job ? <a href={href("jobs", "", { sel: chip.job })}>{chip.job}</a> : WITHOUT_JOB[chip.use]],
    ["Host", chip.server.host ?? "not known"],
    ["Instance", chip.server.instance ?? (chip.server.host ? "not known" : "none bound (design only)")],
    ["Cores", `${number(chip.cores.totalCount)} × ${chip.model.coreModel}`],
    ["HBM", `${gibibytes(chip.memory)}, ${gigabytes(chip.memoryBandwidth)}`],
  ];
  return (
    <section class="card flush" aria-label="Chip and job">
      <h2>Chip and job</h2>
      <dl class="figures inner">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
