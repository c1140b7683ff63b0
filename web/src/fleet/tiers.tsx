// The tiers of the fabric above the domains.
import { graphql, makeQuery, useQuery } from "../api";
import { FabricPicture } from "../drawing/fabric";
import { CopyQueries, DownloadSvg, Loading, svgOf } from "../parts";
import { pluralize } from "../words";

const FABRIC = graphql(`
  query Fabric($cluster: Address!, $uplinks: LinkFilter!) {
    networkNodes(filter: { cluster: { eq: $cluster } }, first: 1000) {
      totalCount
      nodes { address vendorId tier ordinal state }
    }
    links(filter: $uplinks, first: 1000) {
      totalCount
      nodes { address state cables nominal { gigabytesPerSecond } bandwidth { gigabytesPerSecond } a { address } b { address } }
    }
  }
`);

export function Fabric({ cluster, adopted }: { cluster: string; adopted: boolean }) {
  // an adopted one may have an uplink of one cable, and is small enough to look at the addresses of all its links
  const some = adopted ? { address: { startsWith: `${cluster}/fabric/t` } } : { cables: { gt: 1 } };
  const query = makeQuery(FABRIC, { cluster, uplinks: { cluster: { eq: cluster }, scope: { eq: "FABRIC" }, ...some } });
  return (
    <section class="card" aria-label="Fabric tiers">
      <h2>EFA fabric above the domains</h2>
      <Loading result={useQuery(query)}>
        {({ networkNodes, links }) =>
          networkNodes.totalCount === 0 ? (
            <p>No network nodes: a single domain needs none.</p>
          ) : networkNodes.totalCount > networkNodes.nodes.length ? (
            <p>
              {pluralize(networkNodes.totalCount, "network node")}, too many for this page. Draw them with{" "}
              <code>trninv draw {cluster}/fabric</code>.
            </p>
          ) : (
            <>
              <div class="tools">
                <CopyQueries queries={[query]} />
                <DownloadSvg name={`${cluster}-fabric`} picture={svgOf("fabric")} />
              </div>
              <FabricPicture id="fabric" cluster={cluster} nodes={networkNodes.nodes} links={links.nodes} />
            </>
          )
        }
      </Loading>
    </section>
  );
}
