// A fleet: every chip at once on a canvas, and the fabric that joins its domains.
import { asking, download, graphql, type Result, useAsked, useLoaded } from "../api";
import { FabricPicture } from "../drawing/fabric";
import { Fleet } from "../fleet/view";
import { COLOURINGS, overviewSvg, unpacked } from "../overview";
import { Copy, Download, drawn, Shown } from "../parts";
import { change, href, oneOf, type Route } from "../route";
import { counted, gibibytes, number } from "../words";

const CLUSTER = graphql(`
  query Cluster($slug: String!) {
    cluster(slug: $slug) {
      address system
      domains(first: 1) { totalCount nodes { model wiring } }
      racks(first: 1) { totalCount }
      chips(first: 1) { nodes { generation memory { gibibytes } } }
      worn: chips(first: 100, filter: { state: { ne: UP } }) { totalCount nodes { address state } }
    }
  }
`);

const LINKS = graphql(`
  query LinksNotUp($cluster: Address!) {
    links(filter: { cluster: { eq: $cluster }, state: { ne: UP } }, first: 100) {
      totalCount
      nodes { address state }
    }
  }
`);

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

type Cluster = NonNullable<Result<typeof CLUSTER>["cluster"]>;

export function ClusterView({ route }: { route: Route }) {
  const slug = route.of.toLowerCase();
  const asked = asking(CLUSTER, { slug });
  const chips = useLoaded(slug, async (signal) =>
    unpacked(slug, await download(`chips/${encodeURIComponent(slug)}`, signal)),
  );
  const told = useAsked(asked);
  const links = asking(LINKS, { cluster: slug });
  const broken = useAsked(links);
  const colouring = oneOf(COLOURINGS, route.options.colour, "state");
  const picture = () =>
    chips.data ? overviewSvg(chips.data, colouring, getComputedStyle(document.body).backgroundColor) : null;
  return (
    <article>
      <header class="title">
        <h1>{slug}</h1>
        {told.data?.cluster && <Told cluster={told.data.cluster} />}
        <div class="tools">
          <Copy asked={[asked, links]} />
          <Download name={slug} picture={picture} />
        </div>
      </header>
      <Shown of={chips}>
        {(overview) => (
          <Fleet
            overview={overview}
            route={route}
            memory={overview.parts.length === 1 ? told.data?.cluster?.chips.nodes[0]?.memory.gibibytes : undefined}
          />
        )}
      </Shown>
      {told.error && <Shown of={told}>{() => null}</Shown>}
      {told.data?.cluster && <NotUp noun="chip" of={told.data.cluster.worn} />}
      {broken.data && <NotUp noun="link" of={broken.data.links} />}
      {told.data?.cluster && (
        <Fabric cluster={slug} adopted={told.data.cluster.system === "adopted"} open={route.options.fabric === "yes"} />
      )}
    </article>
  );
}

function Told({ cluster }: { cluster: Cluster }) {
  const [domain, chip] = [cluster.domains.nodes[0], cluster.chips.nodes[0]];
  if (cluster.system === "adopted")
    return (
      <p>
        {counted(cluster.domains.totalCount, "domain")} in {counted(cluster.racks.totalCount, "rack")}, adopted from
        what was imported
      </p>
    );
  return (
    <p>
      {number(cluster.domains.totalCount)} × {domain?.model} in {counted(cluster.racks.totalCount, "rack")}
      {chip && `; chips of ${chip.generation} with ${gibibytes(chip.memory)}`}
    </p>
  );
}

interface Some {
  totalCount: number;
  nodes: { address: string; state: string }[];
}

function NotUp({ noun, of }: { noun: string; of: Some }) {
  if (!of.totalCount) return null;
  return (
    <details>
      <summary>{counted(of.totalCount, noun)} not up</summary>
      <ul class="chips">
        {of.nodes.map(({ address, state }) => (
          <li key={address}>
            <a href={shown(address)}>{address}</a> {state}
          </li>
        ))}
        {of.totalCount > of.nodes.length && <li>and {number(of.totalCount - of.nodes.length)} more</li>}
      </ul>
    </details>
  );
}

/** The domain with a chip chosen, or the first end of a link; of the fabric's links, the fabric. */
function shown(address: string): string {
  const [end = ""] = address.split("--");
  const [cluster = "", domain = "", ...inside] = end.split("/");
  if (!/^d\d+$/.test(domain)) return href("cluster", cluster, { fabric: "yes" });
  return href("domain", `${cluster}/${domain}`, { from: /c\d+$/.test(end) ? inside.join("/") : undefined });
}

function Fabric({ cluster, adopted, open }: { cluster: string; adopted: boolean; open: boolean }) {
  // an adopted one may have an uplink of one cable, and is small enough to look at the addresses of all its links
  const some = adopted ? { address: { startsWith: `${cluster}/fabric/t` } } : { cables: { gt: 1 } };
  const asked = asking(FABRIC, { cluster, uplinks: { cluster: { eq: cluster }, scope: { eq: "FABRIC" }, ...some } });
  const loaded = useAsked(open ? asked : null);
  return (
    <details open={open} onToggle={(event) => change({ fabric: event.currentTarget.open ? "yes" : undefined }, true)}>
      <summary>The EFA fabric above the domains</summary>
      {open && (
        <Shown of={loaded}>
          {({ networkNodes, links }) =>
            networkNodes.totalCount === 0 ? (
              <p>No network nodes: a single domain needs none.</p>
            ) : networkNodes.totalCount > networkNodes.nodes.length ? (
              <p>
                {counted(networkNodes.totalCount, "network node")}: too many for this page.{" "}
                <code>trninv draw {cluster}/fabric</code> draws them.
              </p>
            ) : (
              <>
                <div class="tools">
                  <Copy asked={[asked]} />
                  <Download name={`${cluster}-fabric`} picture={drawn("fabric")} />
                </div>
                <FabricPicture id="fabric" cluster={cluster} nodes={networkNodes.nodes} links={links.nodes} />
              </>
            )
          }
        </Shown>
      )}
    </details>
  );
}
