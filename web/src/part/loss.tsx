// What a domain lost by an incident, before → now.
import type { ComponentChildren } from "preact";
import { makeQuery, type Result, useQuery } from "../api";
import { Metric } from "../domain/metric";
import { Change, Loading } from "../parts";
import { href } from "../route";
import "../style/causes.css";
import { formatDifference, number, relativeTo } from "../words";
import { type Capability, LOSS } from "./documents";

const isWorking = (state: unknown) => state === "up" || state === "degraded";

interface RowProps {
  name: string;
  before: Value;
  now: Value;
  unit?: string;
  /** Whether a higher value is worse, as for idle links. */
  less?: boolean;
  /** Why the difference is none, or says little. */
  note?: string | undefined;
  /** What it counts; a phone has no room for it. */
  remark?: string | undefined;
}

/** A value, or what is known of one that is not exact. */
type Value = number | Bounds;

interface Bounds {
  lower: { gigabytesPerSecond: number };
  upper: { gigabytesPerSecond: number };
  exact: boolean;
}

const upperOf = (value: Value) => (typeof value === "number" ? value : value.upper.gigabytesPerSecond);
export const textOf = (value: Value) =>
  typeof value === "number" || value.exact
    ? number(upperOf(value))
    : `${number(value.lower.gigabytesPerSecond)} to ${number(upperOf(value))}`;

function Row({ name, before, now, unit = "", less = false, note, remark }: RowProps) {
  const [was, is] = [upperOf(before), upperOf(now)];
  const isSame = textOf(before) === textOf(now);
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span>
          <Change now={textOf(now) + unit} before={isSame ? undefined : textOf(before)} />
        </span>
        <em class={(less ? is > was : is < was) ? "worse" : undefined}>
          {isSame ? "same" : formatDifference(was, is)}
        </em>
        {note && <small>{note}</small>}
        {remark && <small class="roomy">{remark}</small>}
      </dd>
    </div>
  );
}

/** What a domain can do, before → now. */
export function Losses({ loss }: { loss: Capability }) {
  const { chipsBefore, chipsNow, idleLinksBefore, idleLinksNow, bisectionBefore, bisectionNow } = loss;
  const isBisectionSame = bisectionNow.exact && textOf(bisectionBefore) === textOf(bisectionNow);
  return (
    <dl class="figures losses">
      <Row name="Working chips" before={chipsBefore} now={chipsNow} />
      <Row
        name="Idle links incl. NICs"
        before={idleLinksBefore}
        now={idleLinksNow}
        less
        remark={idleLinksNow > idleLinksBefore ? "to chips and to the fabric" : undefined}
      />
      <Row name="All-gather limit" before={loss.allGatherBefore} now={loss.allGatherNow} unit=" GB/s" />
      <Row
        name="Bisection bandwidth"
        before={bisectionBefore}
        now={bisectionNow}
        unit=" GB/s"
        note={
          loss.incomparable
            ? `of ${number(chipsNow)}, not ${number(chipsBefore)} chips`
            : idleLinksNow > idleLinksBefore && isBisectionSame
              ? "idle links do not cross it"
              : undefined
        }
      />
      <Row name="Memory pool" before={loss.poolBefore.gibibytes} now={loss.poolNow.gibibytes} unit=" GiB" />
    </dl>
  );
}

interface Props {
  /** Whose worst incident it is. */
  scope: string;
  domain: string;
}

const lossOf = ({ incidents }: Pick<Result<typeof LOSS>, "incidents">, domain: string) =>
  incidents.nodes[0]?.impact.domains.find((impact) => impact.domain === domain);

/** What a domain lost by its worst incident, once it is known; empty: no domain. */
export function useLoss(domain: string): Capability | undefined {
  const { data } = useQuery(domain ? makeQuery(LOSS, { scope: domain, domain }) : null);
  return data && lossOf(data, domain);
}

/** What a domain lost by the worst incident at a place. */
function DomainLosses({ scope, domain }: Props) {
  const result = useQuery(makeQuery(LOSS, { scope, domain }));
  return (
    <Loading result={result}>
      {({ chips, incidents }) => {
        const loss = lossOf({ incidents }, domain);
        if (loss) return <Losses loss={loss} />;
        const working = chips.aggregates.reduce((sum, { state, count }) => sum + (isWorking(state) ? count : 0), 0);
        return (
          <dl class="figures losses">
            <Metric name="Working chips" before={undefined} now={working} />
          </dl>
        );
      }}
    </Loading>
  );
}

interface CostProps {
  /** The domain, on the page of another part. */
  of?: string | undefined;
  causes?: number;
  children: ComponentChildren;
}

/** The card of what an incident costs. */
export const CostCard = ({ of, causes = 1, children }: CostProps) => (
  <section class="card flush cost" aria-label="What it costs">
    <h2>
      <span>
        What {causes > 1 ? "the worst cause" : "it"} costs{" "}
        {of && <a href={href("domain", of)}>{relativeTo(of.split("/")[0] ?? "", of)}</a>}
      </span>
      <span class="quiet">before → now</span>
    </h2>
    <div class="inner loss">{children}</div>
  </section>
);

/** On the page of a server or chip. */
export const PartCost = ({ scope, domain }: Props) => (
  <CostCard of={domain}>
    <DomainLosses scope={scope} domain={domain} />
  </CostCard>
);

interface DomainProps {
  domain: string;
  causes: number;
  /** Shown as well if the incident is in so many domains that the service does not compare this one. */
  children: ComponentChildren;
}

/** On the page of the domain. */
export function DomainCost({ domain, causes, children }: DomainProps) {
  const { data } = useQuery(makeQuery(LOSS, { scope: domain, domain }));
  return (
    <>
      <CostCard causes={causes}>
        <DomainLosses scope={domain} domain={domain} />
      </CostCard>
      {data && !lossOf(data, domain) && children}
    </>
  );
}
