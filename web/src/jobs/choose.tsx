// Clusters with domains of several models, which are placed separately, so that one of them must be chosen.
import { Fragment } from "preact";
import { href } from "../route";
import { number } from "../words";
import type { mixedIn } from "./allocated";

/** Domains of a cluster that are offered. */
const MOST = 12;

interface Props {
  clusters: ReturnType<typeof mixedIn>;
  /** What is asked of the domain. */
  options?: Record<string, string | undefined>;
}

export function ChooseDomain({ clusters, options = {} }: Props) {
  return (
    <>
      {clusters.map(({ cluster, domains }) => (
        <div key={cluster}>
          <p class="quiet">The domains of {cluster} have several models, which are placed separately. Choose one:</p>
          <p>
            {Array.from({ length: Math.min(domains, MOST) }, (_, ordinal) => (
              <Fragment key={ordinal}>
                <a href={href("jobs", "", { ...options, in: `${cluster}/d${ordinal}` })}>d{ordinal}</a>{" "}
              </Fragment>
            ))}
            {domains > MOST && <span class="quiet">and {number(domains - MOST)} more</span>}
          </p>
        </div>
      ))}
    </>
  );
}
