// Unhealthy parts in words: the causes next to the map, the same as a table, and the selected domain.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { BriefReason } from "../parts";
import { href } from "../route";
import { type Count, Counts, formatDateTime, Glyph, nounOf, stateWord } from "../state";
import { number, pluralize, relativeTo, shortenAddress } from "../words";
import type { ChipColors } from "./color";
import { addressOf, chipsOf, domainOf, type Overview, placeOf, STATES } from "./overview";
import { addressOfCause, type Cause, chipsIn, type Spot, stateOf } from "./spots";

const MOST = 200;

interface Props {
  cluster: string;
  /** In the order of the keys N and P. */
  causes: Cause[];
  /** Number of all causes. */
  all: number;
  /** How many of the domains they are in. */
  domains: [unhealthy: number, all: number];
  /** Index of the selected cause, or -1. */
  index: number;
  to: (cause: Cause) => string;
}

export function CauseList({ cluster, causes, all, domains: [unhealthy, domains], index, to }: Props) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>("[aria-current]")?.parentElement;
    if (current && list.current) list.current.scrollTop = current.offsetTop - list.current.clientHeight / 3;
  }, [index]);
  if (!all) return <p class="card quiet">Every part of {cluster} is up.</p>;
  const from = Math.max(0, Math.min(index - MOST / 2, causes.length - MOST));
  return (
    <section class="card flush">
      <h2>
        Unhealthy <span class="quiet">{pluralize(all, "cause")}</span>
        <a class="more" href={href("incidents")}>
          Incidents
        </a>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <ul ref={list} class="rows causes" tabIndex={0} aria-label="Causes, worst first">
        {causes.slice(from, from + MOST).map((cause, offset) => (
          <li key={cause.id}>
            <a href={to(cause)} aria-current={from + offset === index ? "true" : undefined}>
              <Glyph state={stateOf(cause)} />
              <span>
                <strong>
                  <span class="unseen">{stateOf(cause)}: </span>
                  {relativeTo(cluster, shortenAddress(addressOfCause(cause)))}
                  {cause.causeCount > 1 && ` and ${number(cause.causeCount - 1)} more`}
                </strong>
                <span class="quiet">
                  <BriefReason text={cause.why ?? "no reason given"} />
                </span>
                {cause.jobs.length > 0 && (
                  <span class="hits">
                    hits {cause.jobs[0]}
                    {cause.jobs.length > 1 && ` and ${pluralize(cause.jobs.length - 1, "more job")}`}
                  </span>
                )}
              </span>
              <span class="quiet">{sizeOf(cause)}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="foot quiet">
        In {number(unhealthy)} of {pluralize(domains, "domain")}.
      </p>
      {all > MOST && (
        <p class="foot quiet">
          {number(Math.min(MOST, causes.length))} shown. Press N and P to step through their places.
        </p>
      )}
    </section>
  );
}

/** Its chips, or its kind if it has none. */
function sizeOf(cause: Cause): string {
  const chips = chipsIn(cause);
  const [first] = cause.parts;
  return chips ? pluralize(chips, "chip") : first ? pluralize(first.count, nounOf(first.kind)) : "";
}

/** The marks of the map as a table. */
export function CauseTable({ spots }: { spots: Spot[] }) {
  if (!spots.length) return null;
  return (
    <details class="card as-table">
      <summary>Show {pluralize(spots.length, "marker")} as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="scroll" tabIndex={0} aria-label="Unhealthy parts">
        <table class="full">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Chips
              </th>
              <th scope="col">Reason</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {spots.slice(0, MOST).map(({ address, state, chips, offMap, cause }) => (
              <tr key={address}>
                <th scope="row">
                  <a href={href("at", address)}>{shortenAddress(address)}</a>
                </th>
                <td>
                  <Glyph state={state} /> {stateWord(state)}
                </td>
                <td class="number">{offMap ? "" : number(chips)}</td>
                <td>{cause && <BriefReason text={cause.why ?? "no reason given"} />}</td>
                <td>{cause?.startedAt && formatDateTime(cause.startedAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {spots.length > MOST && (
        <p class="quiet">
          Showing the first {MOST} of {number(spots.length)}, worst first.
        </p>
      )}
    </details>
  );
}

const CHIP = 15;
const PITCH = 18;

interface PreviewProps {
  overview: Overview;
  /** The colors of chips that are up. */
  colored: ChipColors;
  chip: number;
}

/** A domain by its servers, each a block of chips. */
export function Preview({ overview, colored: { codes, shades }, chip }: PreviewProps) {
  const [{ perServer, servers }, domain] = placeOf(overview, chip);
  return useMemo(() => {
    const [first, all] = chipsOf(overview, domain);
    const states = overview.states.subarray(first, first + all);
    const address = domainOf(addressOf(overview, first));
    const counts: Count[] = STATES.map((state, code) => ({
      kind: "chip",
      state,
      count: states.reduce((sum, value) => sum + Number(value === code), 0),
    })).filter(({ state, count }) => count && state !== "up");
    const wide = Math.ceil(Math.sqrt(perServer));
    const high = Math.ceil(perServer / wide);
    return (
      <section class="card flush preview" aria-label={`Domain ${address}`}>
        <h2>
          d{domain}
          <span class="states">
            <Counts counts={counts} bare />
          </span>
          <a class="more" href={href("domain", address)}>
            Open wiring
          </a>
        </h2>
        <ul class="servers" aria-hidden="true">
          {Array.from({ length: servers }, (_, server) => (
            <li key={server}>
              s{server}
              <svg
                aria-hidden="true"
                viewBox={`0 0 ${wide * PITCH} ${high * PITCH}`}
                style={{ width: `${wide * PITCH}px` }}
              >
                {Array.from({ length: perServer }, (_, own) => {
                  const state = STATES[states[server * perServer + own] ?? 0];
                  const corner = { x: (own % wide) * PITCH + 1, y: Math.floor(own / wide) * PITCH + 1 };
                  const token = shades[codes[first + server * perServer + own] ?? 0]?.token ?? "up";
                  return <Chip key={own} state={state ?? "up"} token={token} {...corner} />;
                })}
              </svg>
            </li>
          ))}
        </ul>
      </section>
    );
  }, [overview, codes, domain]);
}

const SIGNS: Record<string, string> = {
  down: "M4 4l7 7m0-7l-7 7",
  degraded: "M7.5 3.5a4 4 0 0 1 0 8z",
  maintenance: "M7.5 3l4.5 4.5-4.5 4.5-4.5-4.5z",
};

function Chip({ state, token, x, y }: { state: string; token: string; x: number; y: number }) {
  return (
    <g class={state} transform={`translate(${x} ${y})`}>
      <rect width={CHIP} height={CHIP} rx="3" style={state === "up" ? { fill: `var(--${token})` } : undefined} />
      {SIGNS[state] && <path d={SIGNS[state]} />}
    </g>
  );
}
