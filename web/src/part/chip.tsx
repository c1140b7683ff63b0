// The page of a chip: its state, where it is, what each of its links carries, and its history.
import { makeQuery, type Query, type Result, useQuery } from "../api";
import { CopyQueries, Loading } from "../parts";
import { href } from "../route";
import { StateLabel, stateWord } from "../state";
import "../style/domainpages.css";
import "../style/part.css";
import { gibibytes, gigabytes, number, pluralize, relativeTo } from "../words";
import { Band } from "./band";
import { ownChange } from "./changes";
import { CHIP, type ChipPart } from "./documents";
import { History } from "./history";
import { Hub } from "./hub";
import { carries, Links, neuronLinks, nominal } from "./links";
import { PartCost } from "./loss";
import { Where } from "./where";

export function ChipView({ address }: { address: string }) {
  const query = makeQuery(CHIP, { address });
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
        unapplied={answer.unappliedFindingCount}
        server={server.address}
        jobs={chip.job ? [chip.job] : []}
        lost={lostOf(chip)}
      />
      <div class="part-columns">
        <section class="card flush stretched" aria-label="In its server">
          <h2>
            In server <a href={href("at", server.address)}>{relativeTo(domain, server.address)}</a>
            <span class="quiet">GB/s one direction</span>
          </h2>
          <Hub chip={chip} domain={domain} />
        </section>
        <div class="part-side">
          <Links chip={chip} domain={domain} />
          {state !== "up" && <PartCost scope={address} domain={domain} />}
        </div>
        <div class="part-side tall">
          <Where server={server} tray={chip.tray} state={state} />
          <About chip={chip} />
        </div>
        <History events={answer.events} place={address} jobs={chip.job ? [chip.job] : []} />
      </div>
    </article>
  );
}

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
