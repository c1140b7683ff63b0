// The preview of a change: values before → after, while nothing is set.
import { type Loaded, makeQuery, useQuery } from "../api";
import { usePageTime } from "../live";
import { domainOf } from "../panel/panel";
import { Change } from "../parts";
import { href, type Route } from "../route";
import { formatTime, Glyph, type State } from "../state";
import { absoluteIn, formatDifference, number, pluralize, relativeTo } from "../words";
import { CAPABILITY, FLOW, INCIDENT_IMPACT } from "./documents";
import { chipsOf, type Scenario, scenarioOf, type Target } from "./targets";

const MOST_DOMAINS = 2;

interface Props {
  things: Target[];
  to: State;
  factor: number;
  route: Route;
}

export function Preview({ things, to, factor, route }: Props) {
  const { reached } = usePageTime();
  const scenario = scenarioOf(things, to, factor);
  const domains = [...new Set(things.map(({ address }) => domainOf(address)))].filter(Boolean);
  const isIdle = scenario && !scenario.down.length && !scenario.derate.length;
  return (
    <section class="would" aria-label="What this would change">
      <h3>
        What this would change <span class="quiet">as of {formatTime(reached)} UTC</span>
      </h3>
      {isIdle && <p class="quiet">No effect on capacity.</p>}
      {scenario &&
        !isIdle &&
        domains
          .slice(0, MOST_DOMAINS)
          .map((domain) => <Domain key={domain} domain={domain} assumed={scenario} route={route} />)}
      {scenario && !isIdle && domains.length > MOST_DOMAINS && (
        <p class="quiet">and {pluralize(domains.length - MOST_DOMAINS, "more domain")}</p>
      )}
      {scenario && !domains.length && !isIdle && (
        <p class="quiet">Not in a scale-up domain, so no NeuronLink changes.</p>
      )}
      {!scenario && <RestoredCapacity things={things} to={to} />}
      <Jobs things={things} to={to} />
    </section>
  );
}

interface RowProps {
  name: string;
  before: number;
  now: number;
  unit?: string;
  /** Whether a higher value is worse. */
  isBad?: boolean;
  /** Why the two values don't compare. */
  incomparable?: string | null | undefined;
}

function Row({ name, before, now, unit = "", isBad = false, incomparable }: RowProps) {
  const by = now - before;
  const difference = incomparable ? `not comparable: ${incomparable}` : formatDifference(before, now) || "no change";
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Change now={`${number(now)}${unit}`} before={number(before) + (by ? "" : unit)} />
        <span class={by < 0 !== isBad && by && !incomparable ? "less" : "quiet"}>{difference}</span>
      </dd>
    </div>
  );
}

/** The rows of an answer; while it loads, or if it fails, a message. */
function Rows<T>({ result, children }: { result: Loaded<T>; children: (data: T) => preact.ComponentChildren }) {
  if (result.error) return <p class="failure">{result.error.message}</p>;
  if (result.data === undefined) return result.loading ? <p class="quiet">Computing…</p> : null;
  return (
    <dl class={result.loading ? "figures stale" : "figures"} aria-busy={result.loading}>
      {children(result.data)}
    </dl>
  );
}

interface DomainProps {
  domain: string;
  assumed: Scenario;
  route: Route;
}

function Domain({ domain, assumed, route }: DomainProps) {
  const { from, to: end } = route.view === "domain" && route.subject === domain ? route.options : {};
  const flow = from && end ? { from: absoluteIn(domain, from), to: absoluteIn(domain, end) } : null;
  const able = useQuery(makeQuery(CAPABILITY, { scope: domain, ...assumed }));
  const between = useQuery(flow && makeQuery(FLOW, { ...flow, ...assumed }));
  return (
    <>
      <Rows result={able}>
        {({ whatIf: { capability: now } }) =>
          now.baseline && (
            <CapabilityRows
              domain={domain}
              chips={[now.baseline.chips, now.chips]}
              links={[now.baseline.idleLinks, now.idleLinks]}
              halves={[now.baseline.halves, now.halves]}
              incomparable={now.difference?.incomparable}
            />
          )
        }
      </Rows>
      {flow && (
        <Rows result={between}>
          {({ whatIf: { bandwidth } }) => (
            <Row
              name={`Maximum flow ${relativeTo(domain, flow.from)} to ${relativeTo(domain, flow.to)}`}
              before={bandwidth.baseline?.maximumFlow.gigabytesPerSecond ?? 0}
              now={bandwidth.maximumFlow.gigabytesPerSecond}
              unit=" GB/s"
            />
          )}
        </Rows>
      )}
    </>
  );
}

interface Halves {
  exact: boolean;
  upper: { gigabytesPerSecond: number };
}

interface CapabilityRowsProps {
  domain: string;
  /** Values before and after. */
  chips: [number, number];
  links: [number, number];
  halves: [Halves, Halves];
  incomparable: string | null | undefined;
}

/** What a domain can do, before and after. */
function CapabilityRows({ domain, chips, links, halves: [before, after], incomparable }: CapabilityRowsProps) {
  return (
    <>
      <Row name={`Working chips in ${domain}`} before={chips[0]} now={chips[1]} />
      <Row name="Idle links" before={links[0]} now={links[1]} isBad />
      <Row
        name={before.exact && after.exact ? "Bisection" : "Bisection, at most"}
        before={before.upper.gigabytesPerSecond}
        now={after.upper.gigabytesPerSecond}
        unit=" GB/s"
        incomparable={incomparable}
      />
    </>
  );
}

/** For parts that come back: the impact of their incident. */
function RestoredCapacity({ things, to }: { things: Target[]; to: State }) {
  const first = things.find(({ state }) => state !== "up")?.address;
  const result = useQuery(to === "up" && first ? makeQuery(INCIDENT_IMPACT, { scope: first }) : null);
  const places = new Set(things.map(({ address }) => address));
  if (to !== "up" || !first)
    return <p class="quiet">Capacity will increase. The numbers are known once the state is set.</p>;
  return (
    <Rows result={result}>
      {({ incidents: { nodes } }) => {
        const incident = nodes[0];
        if (!incident) return <p class="quiet">Not part of an incident.</p>;
        if (incident.causeCount > incident.causes.length || !incident.causes.every((cause) => places.has(cause)))
          return (
            <p class="quiet">
              Part of incident {incident.id}, which has {pluralize(incident.causeCount, "cause")}. What the other causes
              took down stays down.
            </p>
          );
        return incident.impact.domains.map((cost) => (
          <CapabilityRows
            key={cost.domain}
            domain={cost.domain}
            chips={[cost.chipsNow, cost.chipsBefore]}
            links={[cost.idleLinksNow, cost.idleLinksBefore]}
            halves={[cost.bisectionNow, cost.bisectionBefore]}
            incomparable={cost.incomparable}
          />
        ));
      }}
    </Rows>
  );
}

function Jobs({ things, to }: { things: Target[]; to: State }) {
  const jobs = new Map<string, string[]>();
  for (const { address, job } of chipsOf(things).values()) if (job) jobs.set(job, [...(jobs.get(job) ?? []), address]);
  if (to === "up") return null;
  return (
    <ul class="plain">
      {[...jobs].map(([job, chips]) => (
        <li key={job}>
          <Glyph state="degraded" /> job {job} uses {number(chips.length)} of these chips{" "}
          <a
            href={href("jobs", "", { in: domainOf(chips[0] ?? ""), fit: `chips:${chips.length}` })}
            target="_blank"
            rel="noopener"
          >
            Find another placement
          </a>
        </li>
      ))}
    </ul>
  );
}
