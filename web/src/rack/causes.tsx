// What the worst incident of a rack costs, and what to know before a server is pulled.
import { Fragment } from "preact";
import type { Loaded } from "../api";
import { CostCard, Losses } from "../part/loss";
import { JobLinks, Loading } from "../parts";
import { href } from "../route";
import { number } from "../words";
import type { CostAnswer, RackServer } from "./documents";

/** What the rack's worst incident costs its domains, before → now. */
export function Cost({ result }: { result: Loaded<CostAnswer> }) {
  const domains = result.data?.incidents.nodes[0]?.impact.domains.slice(0, 2) ?? [];
  return (
    <CostCard of={domains.length === 1 ? domains[0]?.domain : undefined}>
      <Loading result={result}>
        {() =>
          domains.length ? (
            domains.map((loss) => (
              <Fragment key={loss.domain}>
                {domains.length > 1 && (
                  <h3>
                    <a href={href("domain", loss.domain)}>{loss.domain.split("/")[1]}</a>
                  </h3>
                )}
                <Losses loss={loss} />
              </Fragment>
            ))
          ) : (
            <p class="quiet">No loss is known.</p>
          )
        }
      </Loading>
    </CostCard>
  );
}

const MANY = 4;

/** Jobs, hosts and instances of the rack's servers, the top one first. */
export function Pull({ servers, rack }: { servers: RackServer[]; rack: string }) {
  const racks = [
    ...new Set(servers.flatMap(({ domain }) => domain.servers.nodes.map((server) => server.rack.address))),
  ].filter((address) => address !== rack);
  const hasOneDomain = new Set(servers.map(({ domain }) => domain.address)).size === 1;
  const shown = servers.length > MANY ? servers.filter(({ state }) => state !== "up") : [...servers].reverse();
  return (
    <section class="card flush" aria-label="Before you pull a server">
      <h2>Before you pull a server</h2>
      <dl class="figures inner">
        {shown.map(({ address, chips, host, instance }) => {
          const jobs = [...new Set(chips.nodes.flatMap(({ job }) => job ?? []))];
          return (
            <div key={address}>
              <dt>
                <a href={href("at", address)}>
                  {address
                    .split("/")
                    .slice(hasOneDomain ? 2 : 1)
                    .join("/")}
                </a>
              </dt>
              <dd>
                <JobLinks jobs={jobs} none="no job" />
                <small>{[host, instance].filter(Boolean).join(" · ") || "no instance bound"}</small>
              </dd>
            </div>
          );
        })}
        {servers.length > MANY && (
          <div>
            <dt>Jobs in the rack</dt>
            <dd>{number(new Set(servers.flatMap(({ chips }) => chips.nodes.flatMap(({ job }) => job ?? []))).size)}</dd>
          </div>
        )}
        {racks.length > 0 && (
          <div>
            <dt>Its domains are also in</dt>
            <dd>
              {racks.slice(0, 4).map((address, index) => (
                <span key={address}>
                  {index > 0 && ", "}
                  <a href={href("rack", address)}>{address.split("/")[1]}</a>
                </span>
              ))}
              {racks.length > 4 && ` and ${racks.length - 4} more`}
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}
