// What a change would do, before → after, as long as nothing is set.
import { asking, type Loaded, useAsked } from "../api";
import { useMoment } from "../live";
import { domainOf } from "../panel/panel";
import { Change } from "../parts";
import { href, type Route } from "../route";
import { clock, Glyph, type State } from "../state";
import { below, counted, number, within } from "../words";
import { BROUGHT, FLOW, HALVES, HELD } from "./documents";
import { chipsOf, type Supposing, supposing, type Thing } from "./things";

const MOST_DOMAINS = 2;

interface Props {
  things: Thing[];
  to: State;
  factor: number;
  route: Route;
}

export function Preview({ things, to, factor, route }: Props) {
  const { reached } = useMoment();
  const found = supposing(things, to, factor);
  const inside = (domain: string) => things.filter(({ address }) => domainOf(address) === domain);
  const domains = [...new Set(things.map(({ address }) => domainOf(address)))].filter(Boolean);
  const isIdle = found && !found.down.length && !found.derate.length;
  return (
    <section class="would" aria-label="What it would change">
      <h3>
        What it would change <span class="quiet">as of {clock(reached)} UTC</span>
      </h3>
      {isIdle && <p class="quiet">Nothing: what carries anything now goes on as it does.</p>}
      {found &&
        !isIdle &&
        domains
          .slice(0, MOST_DOMAINS)
          .map((domain) => (
            <Domain key={domain} domain={domain} supposed={found} things={inside(domain)} to={to} route={route} />
          ))}
      {found && !isIdle && domains.length > MOST_DOMAINS && (
        <p class="quiet">and {counted(domains.length - MOST_DOMAINS, "more domain")}</p>
      )}
      {found && !domains.length && !isIdle && <p class="quiet">No scale-up domain holds it: no NeuronLink changes.</p>}
      {!found && <Brought things={things} to={to} />}
      <Jobs things={things} to={to} />
    </section>
  );
}

interface RowProps {
  name: string;
  before: number;
  now: number;
  unit?: string;
  /** Whether more of it is worse. */
  isBad?: boolean;
  /** Instead of the difference. */
  note?: string | false;
}

function Row({ name, before, now, unit = "", isBad = false, note = false }: RowProps) {
  const by = now - before;
  const sign = by < 0 ? "−" : "+";
  const share = unit ? `${number(Math.round(Math.abs((1000 * by) / before)) / 10)} %` : number(Math.abs(by));
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Change now={`${number(now)}${unit}`} before={number(before) + (by ? "" : unit)} />
        <span class={by < 0 !== isBad && by && !note ? "less" : "quiet"}>
          {note || (by ? `${sign}${unit && !before ? "" : share}` : "no change")}
        </span>
      </dd>
    </div>
  );
}

/** An answer's rows; until it is there, and where it can't be had, that in words. */
function Rows<T>({ of, children }: { of: Loaded<T>; children: (data: T) => preact.ComponentChildren }) {
  if (of.error) return <p class="failure">{of.error.message}</p>;
  if (of.data === undefined) return of.loading ? <p class="quiet">Computing…</p> : null;
  return (
    <dl class={of.loading ? "figures stale" : "figures"} aria-busy={of.loading}>
      {children(of.data)}
    </dl>
  );
}

interface DomainProps {
  domain: string;
  supposed: Supposing;
  things: Thing[];
  to: State;
  route: Route;
}

function Domain({ domain, supposed, things, to, route }: DomainProps) {
  const { from, to: end } = route.view === "domain" && route.of === domain ? route.options : {};
  const flow = from && end ? { from: within(domain, from), to: within(domain, end) } : null;
  const held = useAsked(asking(HELD, { of: domain }));
  const halves = useAsked(asking(HALVES, { of: domain, ...supposed }));
  const between = useAsked(flow && asking(FLOW, { ...flow, ...supposed }));
  const chips = chipsOf(things);
  const ups = [...chips.values()].filter(({ state }) => state === "up").length;
  const gone = new Set(supposed.down.length ? [...supposed.down, ...chips.keys()] : []);
  const lost = (end: string) => gone.has(end) || supposed.down.some((place) => end.startsWith(`${place}/`));
  return (
    <>
      <Rows of={held}>
        {({ chips: { totalCount: up }, links }) => {
          const idle = links.nodes.filter(({ bandwidth }) => !bandwidth.gigabytesPerSecond).length;
          const then = links.nodes.filter(
            ({ address, bandwidth }) =>
              !bandwidth.gigabytesPerSecond || gone.has(address) || address.split("--").some(lost),
          ).length;
          return (
            <>
              <Row name={`Chips up in ${domain}`} before={up} now={up - ups} />
              {to !== "degraded" && <Row name="Links that carry nothing" before={idle} now={then} isBad />}
            </>
          );
        }}
      </Rows>
      <Rows of={halves}>
        {({ whatIf: { bisection: now } }) => {
          const { baseline: was } = now;
          if (!was) return null;
          const [wide, wideNow] = [was.upper.gigabytesPerSecond, now.upper.gigabytesPerSecond];
          const sizes = `not comparable: ${was.sideA + was.sideB} → ${now.sideA + now.sideB} chips`;
          return (
            <Row
              name={now.exact && was.exact ? "Bisection" : "Bisection, at most"}
              before={wide}
              now={wideNow}
              unit=" GB/s"
              note={wideNow > wide && sizes}
            />
          );
        }}
      </Rows>
      {flow && (
        <Rows of={between}>
          {({ whatIf: { bandwidth } }) => (
            <Row
              name={`Maximum flow ${below(domain, flow.from)} to ${below(domain, flow.to)}`}
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

/** What comes back is known of a whole incident: what it took. */
function Brought({ things, to }: { things: Thing[]; to: State }) {
  const first = things.find(({ state }) => state !== "up")?.address;
  const found = useAsked(to === "up" && first ? asking(BROUGHT, { of: first }) : null);
  const places = new Set(things.map(({ address }) => address));
  if (to !== "up" || !first) return <p class="quiet">It carries more than now: how much shows when it is set.</p>;
  return (
    <Rows of={found}>
      {({ incidents: { nodes } }) => {
        const of = nodes[0];
        if (!of) return <p class="quiet">It is no part of an incident.</p>;
        if (of.causeCount > of.causes.length || !of.causes.every((cause) => places.has(cause)))
          return (
            <p class="quiet">
              It belongs to incident {of.id}, which has {counted(of.causeCount, "cause")}: what the others took stays
              away.
            </p>
          );
        return of.impact.domains.map((each) => (
          <>
            <Row
              key={`${each.domain} chips`}
              name={`Chips that carry in ${each.domain}`}
              before={each.chipsNow}
              now={each.chipsBefore}
            />
            <Row
              key={`${each.domain} bisection`}
              name={each.bisectionBefore.exact && each.bisectionNow.exact ? "Bisection" : "Bisection, at most"}
              before={each.bisectionNow.upper.gigabytesPerSecond}
              now={each.bisectionBefore.upper.gigabytesPerSecond}
              unit=" GB/s"
            />
          </>
        ));
      }}
    </Rows>
  );
}

function Jobs({ things, to }: { things: Thing[]; to: State }) {
  const jobs = new Map<string, string[]>();
  for (const { address, job } of chipsOf(things).values()) if (job) jobs.set(job, [...(jobs.get(job) ?? []), address]);
  if (to === "up") return null;
  return (
    <ul class="plain">
      {[...jobs].map(([job, chips]) => (
        <li key={job}>
          <Glyph state="degraded" /> job {job} runs on {counted(chips.length, "chip")} of it
          <a
            href={href("jobs", "", { in: domainOf(chips[0] ?? ""), fit: `chips:${chips.length}` })}
            target="_blank"
            rel="noopener"
          >
            Where else it fits
          </a>
        </li>
      ))}
    </ul>
  );
}
