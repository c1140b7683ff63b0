// A documented system without a cluster of its name as a place to compare, with the documents' numbers.
import { graphql, makeQuery, type Result } from "../api";
import type { Size } from "./documents";

export const SYSTEMS = makeQuery(
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

type Systems = Result<typeof SYSTEMS.document>;

const NONE = { nodes: [], aggregates: [] };

/** Load the documented system of a name; not if a cluster has the name, which may only be missing at that time. */
export function designOf(name: string, { systems, clusters }: Systems): Size | undefined {
  if (clusters.nodes.some(({ address }) => address === name)) return undefined;
  const system = systems.find(({ slug, aliases }) => slug === name || aliases.includes(name));
  return (
    system && {
      design: system.slug,
      resolve: { __typename: "Cluster", address: system.slug, system: system.name },
      chips: {
        totalCount: system.chips,
        aggregates: [{ memory: system.memory, bandwidth: system.memoryBandwidth, teraflops: system.teraflops }],
      },
      carrying: { totalCount: system.chips, nodes: [] },
      servers: { totalCount: system.servers, aggregates: [{ memory: system.hostMemory }] },
      nics: { totalCount: system.nics, aggregates: [{ bandwidth: system.efaBandwidth }] },
      networkNodes: { totalCount: system.networkNodes },
      links: { aggregates: [{ bandwidth: system.linkBandwidth }] },
      domains: { totalCount: system.domains },
      chip: NONE,
      server: NONE,
      nic: NONE,
      switch: NONE,
      link: NONE,
    }
  );
}
