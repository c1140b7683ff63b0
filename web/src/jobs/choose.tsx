// Clusters with domains of several models, which are placed separately, so that one of them must be chosen.
import { href } from "../route";
import { number } from "../words";
import type { ClusterChips } from "./allocated";

/** Domains of a cluster that are offered. */
const MOST = 12;

/** The clusters that must be asked domain by domain, if an error says so. */
export const mixedIn = (clusters: ClusterChips[], scopes: string[], error: { code: string } | undefined) =>
  error?.code === "BAD_ARGUMENT"
    ? clusters.flatMap(({ overview }) =>
        overview.parts.length > 1 && scopes.includes(overview.cluster) ? [overview] : [],
      )
    : [];

interface Props {
  clusters: ReturnType<typeof mixedIn>;
  /** What is asked of the domain. */
  options?: Record<string, string | undefined>;
}

export function ChooseDomain({ clusters, options = {} }: Props) {
  return (
    <>
      {clusters.map(({ cluster, domains }) => (
        <div key={cluster} class="choose-domain">
          <p class="quiet">The domains of {cluster} have several models, which are placed separately. Choose one:</p>
          <p>
            {Array.from({ length: Math.min(domains, MOST) }, (_, ordinal) => (
              <>
                <a key={ordinal} href={href("jobs", "", { ...options, in: `${cluster}/d${ordinal}` })}>
                  d{ordinal}
                </a>{" "}
              </>
            ))}
            {domains > MOST && <span class="quiet">and {number(domains - MOST)} more</span>}
          </p>
        </div>
      ))}
    </>
  );
}
