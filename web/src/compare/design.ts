// A documented system that no cluster is named after, as a place to compare: its numbers are the documents'.
import { asking, graphql, type Result } from "../api";
import type { Size } from "./documents";

export const SYSTEMS = asking(
  graphql(`
    query CompareSystems {
      clusters(first: 1000) { nodes { address } }
      systems {
        slug name aliases chips servers domains nics networkNodes teraflops
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        hostMemory { gibibytes }
        efaBandwidth { gigabytesPerSecond }
        linkBandwidth { gigabytesPerSecond }
      }
    }
  `),
  {},
);

type Known = Result<typeof SYSTEMS.document>;

const NONE = { nodes: [], aggregates: [] };

/** The system of a name, as documents have it; nothing of a cluster, which may lack only at the time that is asked of. */
export function designOf(name: string, { systems, clusters }: Known): Size | undefined {
  if (clusters.nodes.some(({ address }) => address === name)) return undefined;
  const of = systems.find(({ slug, aliases }) => slug === name || aliases.includes(name));
  return (
    of && {
      design: of.slug,
      resolve: { __typename: "Cluster", address: of.slug, system: of.name },
      chips: {
        totalCount: of.chips,
        aggregates: [{ memory: of.memory, bandwidth: of.memoryBandwidth, teraflops: of.teraflops }],
      },
      carrying: { totalCount: of.chips, nodes: [] },
      servers: { totalCount: of.servers, aggregates: [{ memory: of.hostMemory }] },
      nics: { totalCount: of.nics, aggregates: [{ bandwidth: of.efaBandwidth }] },
      networkNodes: { totalCount: of.networkNodes },
      links: { aggregates: [{ bandwidth: of.linkBandwidth }] },
      domains: { totalCount: of.domains },
      chip: NONE,
      server: NONE,
      nic: NONE,
      switch: NONE,
      link: NONE,
    }
  );
}
