// One domain: its wiring, the question, the scenario and the answer.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { makeQuery, type Query, type Result, useLoaded, useQuery } from "../api";
import type { Wiring } from "../drawing/layout";
import { bandwidths } from "../drawing/wiring";
import { fetchLetters } from "../fleet/allocations";
import { Unapplied } from "../incidents/unapplied";
import { lazyView } from "../lazy";
import { Causes } from "../part/causes";
import { DomainCost } from "../part/loss";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { href, type Route } from "../route";
import { type Count, Counts } from "../state";
import "../style/domainpages.css";
import { absoluteIn, pluralize, relativeTo } from "../words";
import { Between, Bisection, MemoryPool, Domain as Whole } from "./answers";
import { WIRING } from "./documents";
import { IncidentCost } from "./incidentcost";
import { Jobs, type Letters } from "./jobs";
import { useKeys } from "./keys";
import { cutOf, hopsOf, Links } from "./links";
import { marksOf } from "./marks";
import { ANSWER, Ends, FlatOrSolid, type Mode, Modes, More, modeOf, tabOf } from "./modes";
import { Picture } from "./picture";
import { type Answers, useAnswers } from "./requests";
import { isChanged, type Scenario, scenarioOf } from "./scenario";
import { summarize } from "./summary";
import { WhatIf } from "./whatif";
import { type Domain, useNarrow, wiringOf } from "./wiring";

const Timeline = lazyView(async () => (await import("../timeline/timeline")).Timeline);

const NONE: Letters = new Map();

export function DomainView({ route }: { route: Route }) {
  const narrow = useNarrow();
  const query = makeQuery(WIRING, { address: route.subject, narrow });
  return (
    <Loading result={useQuery(query)} page={route.subject}>
      {(data) => {
        const domain = data.resolve;
        if (!("wiring" in domain)) return <p class="failure">{route.subject} is not a domain.</p>;
        return <Opened domain={domain} answer={data} route={route} query={query} narrow={narrow} />;
      }}
    </Loading>
  );
}

interface OpenedProps {
  domain: Domain;
  answer: Result<typeof WIRING>;
  route: Route;
  query: Query;
  narrow: boolean;
}

function Opened({ domain, answer, route, query, narrow }: OpenedProps) {
  const { layout, incidents, nics, unappliedFindingCount } = answer;
  const place = domain.address;
  const { options } = route;
  const [breaking, setBreaking] = useState(false);
  const wiring = useMemo(() => wiringOf(domain, layout), [domain, layout]);
  const from = options.from ? absoluteIn(place, options.from.toLowerCase()) : "";
  const to = options.to ? absoluteIn(place, options.to.toLowerCase()) : "";
  const scenario = useMemo(() => scenarioOf(wiring, options), [wiring, options.down, options.derate]);
  const answers = useAnswers(place, from, to, scenario);
  const mode = modeOf(options.show);
  const cluster = place.split("/")[0] ?? "";
  const letters =
    useLoaded(mode === "jobs" ? `letters ${cluster}` : null, (signal) => fetchLetters(cluster, signal)).data ?? NONE;
  // on a phone, chips in space would cover each other
  const canTurn = wiring.solid.size > 0 && !narrow;
  const isTurned = wiring.solid.size > 0 && options.view === "3d";
  const solid = canTurn && isTurned;
  useKeys(route, from, to, scenario);
  const isAnswered = isAsked(mode, from, to);
  const cost = incidents.totalCount > 0 && !isChanged(scenario) && (
    <DomainCost domain={place} causes={incidents.totalCount}>
      <Whole scenarioText="" halves={answers.halves} pool={answers.pool} />
    </DomainCost>
  );
  return (
    <article class="domain">
      <Heading domain={domain} wiring={wiring} nics={nics.aggregates} queries={[...answers.queries, query]} />
      <div class="questions">
        <Modes mode={mode} narrow={narrow} />
        {mode !== "bisection" && mode !== "jobs" && <Ends wiring={wiring} from={from} to={to} narrow={narrow} />}
        <div class="drawn">
          {canTurn && <FlatOrSolid solid={solid} />}
          <More breaking={breaking} setBreaking={setBreaking} />
        </div>
      </div>
      {isTurned && narrow && <p class="quiet">Drawn flat: 3D needs a wider screen.</p>}
      <WhatIf domain={place} scenario={scenario} />
      <div class={isAnswered ? "split asked" : "split"}>
        <section aria-label="Wiring">
          <Picture
            wiring={wiring}
            mode={mode}
            marks={marksOf(mode, wiring, answers, from, letters)}
            ends={[from, to]}
            scenario={scenario}
            options={options}
            solid={solid}
            breaking={breaking}
            awaited={answerOf(mode, answers)?.loading ?? false}
          />
          <Timeline scope={place} span={options.span} />
        </section>
        <div class="beside">
          {incidents.totalCount > 0 && <Causes place={place} incidents={incidents} />}
          {unappliedFindingCount > 0 && (
            <p class="card">
              <Unapplied count={unappliedFindingCount} scope={place} />
            </p>
          )}
          {!isAnswered && cost}
          <section
            class="answers"
            id={ANSWER}
            {...(narrow ? { "aria-label": "Answer" } : { role: "tabpanel", "aria-labelledby": tabOf(mode) })}
          >
            <Answer
              mode={mode}
              wiring={wiring}
              ends={[from, to]}
              scenario={scenario}
              answers={answers}
              letters={letters}
              cost={isAnswered && cost}
              hasCost={cost !== false}
            />
          </section>
        </div>
      </div>
      <p class="unseen" role="status">
        {summarize(mode, relativeTo(place, from), relativeTo(place, to), answers)}
      </p>
    </article>
  );
}

/** Whether a question has all that it needs. */
const isAsked = (mode: Mode, from: string, to: string) =>
  mode === "bisection" || mode === "jobs" || (from !== "" && (mode === "pool" || to !== ""));

/** The answer that the picture shows. */
const answerOf = (mode: Mode, { shortest, widest, flow, halves, pool }: Answers) =>
  ({ path: shortest, widest, cut: flow, bisection: halves, pool, jobs: undefined })[mode];

interface AnswerProps {
  mode: Mode;
  wiring: Wiring;
  ends: [string, string];
  scenario: Scenario;
  answers: Answers;
  letters: Letters;
  /** What the worst incident cost the domain, unless that stands above. */
  cost: ComponentChildren;
  /** Whether it stands here or above, with the numbers of the whole domain. */
  hasCost: boolean;
}

function Answer({ mode, wiring, ends: [from, to], scenario, answers, letters, cost, hasCost }: AnswerProps) {
  const { domain } = wiring;
  const scenarioText = summarizeScenario(scenario);
  const taking = { domain, scenario, widest: bandwidths(wiring)[0] ?? 1 };
  const { shortest, widest, flow, halves, pool } = answers;
  if (mode === "jobs")
    return (
      <>
        <Jobs wiring={wiring} letters={letters} />
        {cost}
      </>
    );
  if (mode === "bisection")
    return (
      <>
        <Bisection domain={domain} scenarioText={scenarioText} halves={halves} />
        {cost}
        {halves.data && (
          <Links
            title="Links crossing the halves"
            hops={cutOf(halves.data.cut.nodes)}
            taking={taking}
            stale={halves.loading}
          />
        )}
      </>
    );
  if (mode === "pool")
    return from ? (
      <>
        <MemoryPool
          title={`Memory pool of ${relativeTo(domain, from)}`}
          scenarioText={scenarioText}
          pool={pool}
          from={from}
        />
        {cost}
      </>
    ) : (
      <Choose what="a chip" />
    );
  const ways = mode === "widest" ? widest : shortest;
  return (
    <>
      {from && to ? (
        <Between
          domain={domain}
          title={`${relativeTo(domain, from)} to ${relativeTo(domain, to)}`}
          scenarioText={scenarioText}
          mode={mode}
          answers={answers}
        />
      ) : (
        <Choose what={from ? "another chip" : "two chips"} />
      )}
      {cost}
      {!hasCost && <Whole scenarioText={from && to ? "" : scenarioText} halves={halves} pool={pool} />}
      {mode === "cut" && flow.data && (
        <Links
          title="Minimum cut, link by link"
          hops={cutOf(flow.data.minimumCut.nodes)}
          taking={taking}
          stale={flow.loading}
        />
      )}
      {mode !== "cut" && ways.data?.reachable && (
        <Links
          title="Path, link by link"
          hops={hopsOf(ways.data)}
          instances={ways.data.instances}
          taking={taking}
          stale={ways.loading}
        />
      )}
      {/* last, since it comes late, if at all */}
      {from && to && !scenarioText && [...wiring.parts, ...wiring.wires].some(({ state }) => state !== "up") && (
        <IncidentCost domain={domain} ends={{ from, to }} shortest={shortest} flow={flow} />
      )}
    </>
  );
}

/** The scenario in a few words. */
function summarizeScenario({ down, derate }: Scenario): string {
  const parts = [down.length && `${down.length} down`, derate.length && `${derate.length} degraded`].filter(Boolean);
  return parts.length ? `what if ${parts.join(", ")}` : "";
}

function Choose({ what }: { what: string }) {
  return (
    <p class="card hint">
      Choose {what} in the picture
      <span class="keys">
        , or select one and press <kbd>F</kbd> or <kbd>T</kbd>
      </span>
      .
    </p>
  );
}

interface HeadingProps {
  domain: Domain;
  wiring: Wiring;
  /** Unhealthy NICs by state. */
  nics: Result<typeof WIRING>["nics"]["aggregates"];
  queries: Query[];
}

function Heading({ domain, wiring, nics, queries }: HeadingProps) {
  const { parts, wires } = wiring;
  const servers = domain.servers.nodes;
  const racks = [...new Set(servers.map((server) => server.rack.address))];
  const chips = parts.filter((part) => part.kind === "chip").length;
  const switches = parts.length - chips;
  const cluster = domain.address.split("/")[0] ?? "";
  return (
    <header class="title">
      <h1>{domain.address}</h1>
      <div class="states">
        <Counts
          counts={[
            ...unhealthyCounts([...parts, ...kinds("server", servers), ...kinds("link", wires)]),
            ...nics.map(({ state, count }) => ({ kind: "nic", state: state ?? "up", count })),
          ]}
        />
      </div>
      <p>
        {[
          domain.model,
          switches ? "" : domain.wiring,
          `${pluralize(chips, "chip")}, ${pluralize(servers.length, "server")}${switches ? `, ${pluralize(switches, "switch")}` : ""}`,
        ]
          .filter(Boolean)
          .join(" · ")}{" "}
        · {racks.length > 1 ? "racks" : "rack"}{" "}
        {racks.map((rack, index) => (
          <span key={rack}>
            {index > 0 && ", "}
            <a href={href("rack", rack)}>{relativeTo(cluster, rack)}</a>
          </span>
        ))}
      </p>
      <div class="tools">
        <a href={href("measured", domain.address)}>Measured</a>
        <CopyQueries queries={queries} />
        <DownloadSvg name={domain.address} picture={svgOf("wiring")} />
      </div>
    </header>
  );
}

const kinds = (kind: string, items: { state: string }[]) => items.map(({ state }) => ({ kind, state }));

function unhealthyCounts(parts: { kind: string; state: string }[]): Count[] {
  const counts = new Map<string, Count>();
  for (const { kind, state } of parts) {
    const key = `${kind} ${state}`;
    if (state !== "up") counts.set(key, { kind, state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
