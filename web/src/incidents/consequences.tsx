// Consequences of an incident: links that carry nothing, and chips still reached.
import { countKinds } from "../kinds";
import { href } from "../route";
import { Counts, Glyph } from "../state";
import { number, pluralize, shortenAddress } from "../words";
import type { Incident } from "./documents";
import type { ImpactAnswer } from "./impact";

const CAUSES = 4;

export function Consequences({ incident, costs }: { incident: Incident; costs: ImpactAnswer | undefined }) {
  const sum = incident.parts.reduce((total, { count }) => total + count, 0);
  return (
    <ul class="tree">
      {incident.causes.slice(0, CAUSES).map((cause) => (
        <li key={cause}>
          <a class="address" href={href("at", cause)}>
            {shortenAddress(cause)}
          </a>{" "}
          <span class="quiet">root cause</span>
        </li>
      ))}
      <MoreCauses
        rest={incident.causes.slice(CAUSES)}
        count={incident.causeCount - Math.min(CAUSES, incident.causes.length)}
      />
      {sum > incident.causeCount && (
        <li class="follows states">
          <Counts counts={incident.parts} />
        </li>
      )}
      {incident.independentFailures > 0 && (
        <li class="follows">
          {pluralize(incident.independentFailures, "part")} unhealthy for other reasons. Restoring the causes does not
          fix them.
        </li>
      )}
      {costs?.domains.map((cost) => (
        <Idle key={cost.domain} domain={cost.domain} links={cost.idleLinksNow - cost.idleLinksBefore} />
      ))}
      {costs?.domains.map((cost) => (
        <li class="follows" key={cost.domain}>
          <Glyph state="up" />
          <span>
            <strong>{number(cost.chipsNow)}</strong> of {pluralize(cost.chipsBefore, "chip")} still reachable{" "}
            <span class="quiet">
              in{" "}
              <a class="address" href={href("domain", cost.domain)}>
                {cost.domain}
              </a>
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** How many more causes there are, and of which kinds as far as they are listed: 12 more: 8 chips, 4 links. */
export function MoreCauses({ rest, count }: { rest: string[]; count: number }) {
  if (count <= 0) return null;
  return (
    <li class="quiet">
      {pluralize(count, "more cause")}
      {rest.length === count && `: ${countKinds(rest)}`}
    </li>
  );
}

function Idle({ domain, links }: { domain: string; links: number }) {
  if (!links) return null;
  return (
    <li class="follows">
      <span class="swatch line idle" />
      <span>
        <strong>{pluralize(links, "link")}</strong> idle{" "}
        <span class="quiet">
          in{" "}
          <a class="address" href={href("domain", domain)}>
            {domain}
          </a>
        </span>
      </span>
    </li>
  );
}
