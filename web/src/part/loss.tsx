// What a domain lost by an incident, before → now.
import type { ComponentChildren } from "preact";
import { makeQuery, type Result, useQuery } from "../api";
import { Metric } from "../domain/metric";
import { Loading } from "../parts";
import "../style/causes.css";
import { relativeTo } from "../words";
import { type Capability, LOSS } from "./documents";

const isWorking = (state: unknown) => state === "up" || state === "degraded";

/** What a domain can do, before → now; of: its name, where there are several. */
export function Losses({ loss, of }: { loss: Capability; of?: string | undefined }) {
  const name = (metric: string) => (of ? `${metric} ${metric === "Working chips" ? "in" : "of"} ${of}` : metric);
  return (
    <>
      <Metric name={name("Working chips")} before={loss.chipsBefore} now={loss.chipsNow} />
      <Metric
        name={name("All-gather limit")}
        before={loss.allGatherBefore.upper.gigabytesPerSecond}
        now={loss.allGatherNow.upper.gigabytesPerSecond}
        unit="GB/s"
      />
      <Metric
        name={name("Bisection bandwidth")}
        before={loss.bisectionBefore.upper.gigabytesPerSecond}
        now={loss.bisectionNow.upper.gigabytesPerSecond}
        unit="GB/s"
        note={loss.incomparable ? `of ${loss.chipsNow}, not ${loss.chipsBefore} chips` : undefined}
      />
      <Metric name={name("Memory pool")} before={loss.poolBefore.gibibytes} now={loss.poolNow.gibibytes} unit="GiB" />
    </>
  );
}

interface Props {
  /** Whose worst incident it is. */
  scope: string;
  domain: string;
}

const lossOf = ({ incidents }: Pick<Result<typeof LOSS>, "incidents">, domain: string) =>
  incidents.nodes[0]?.impact.domains.find((impact) => impact.domain === domain);

/** The jobs that the worst incident at a place slows down in a domain without hitting them; none until it is loaded. */
export function useSlowerJobs(scope: string | null, domain: string): readonly string[] {
  const { data } = useQuery(scope ? makeQuery(LOSS, { scope, domain }) : null);
  return (data && lossOf(data, domain)?.slowerJobs) ?? [];
}

/** What a domain lost by the worst incident at a place. */
export function DomainLosses({ scope, domain }: Props) {
  const result = useQuery(makeQuery(LOSS, { scope, domain }));
  return (
    <Loading result={result}>
      {({ chips, incidents }) => {
        const loss = lossOf({ incidents }, domain);
        const working = chips.aggregates.reduce((sum, { state, count }) => sum + (isWorking(state) ? count : 0), 0);
        return (
          <dl class="figures">
            {loss ? <Losses loss={loss} /> : <Metric name="Working chips" before={undefined} now={working} />}
          </dl>
        );
      }}
    </Loading>
  );
}

/** On the page of a server, below what it lost itself. */
export const DomainLoss = ({ scope, domain }: Props) => (
  <div class="inner loss">
    <h3>Domain {relativeTo(domain.split("/")[0] ?? "", domain)}, before → now</h3>
    <DomainLosses scope={scope} domain={domain} />
  </div>
);

interface CostProps {
  domain: string;
  causes: number;
  /** Shown as well if the incident is in so many domains that the service does not compare this one. */
  children: ComponentChildren;
}

/** On the page of the domain, as the rack has it. */
export function DomainCost({ domain, causes, children }: CostProps) {
  const { data } = useQuery(makeQuery(LOSS, { scope: domain, domain }));
  return (
    <>
      <section class="card flush cost" aria-label="What it costs">
        <h2>
          What {causes > 1 ? "the worst cause" : "it"} costs <span class="quiet">before → now</span>
        </h2>
        <div class="inner loss">
          <DomainLosses scope={domain} domain={domain} />
        </div>
      </section>
      {data && !lossOf(data, domain) && children}
    </>
  );
}
