// A documented system without a cluster of its name as a place to compare, with the documents' numbers.
import { graphql, makeQuery, type Result } from "../api";

export const SYSTEMS = makeQuery(
  graphql(`
    query CompareSystems {
      clusters(first: 1000) { nodes { address } }
      systems {
        name slug aliases chips servers domains nics networkNodes teraflops
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        hostMemory { gibibytes }
        efaBandwidth { gigabytesPerSecond }
      }
    }
  `),
  {},
);

type Systems = Result<typeof SYSTEMS.document>;

/** Find the documented system of a name; not if a cluster has the name, which may only be missing at that time. */
export function designOf(name: string, { systems, clusters }: Systems) {
  if (clusters.nodes.some(({ address }) => address === name)) return undefined;
  return systems.find(({ slug, aliases }) => slug === name || aliases.includes(name));
}
