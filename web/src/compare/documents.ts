// GraphQL documents of the Compare page.
import { type ApiError, graphql, makeQuery, type Result, runQuery, useLoaded } from "../api";
import type { Count } from "../state";
import { designOf, SYSTEMS } from "./design";

const SIZE = graphql(`
  query CompareSize(
    $address: Address!, $chips: ChipFilter!, $servers: ServerFilter!, $nics: NicFilter!, $switches: SwitchFilter!
    $links: LinkFilter!, $nodes: NetworkNodeFilter!, $domains: DomainFilter!
  ) {
    resolve(address: $address) { __typename address ... on Domain { model } ... on Cluster { system } }
    chips(first: 1, filter: $chips) {
      totalCount
      aggregates { memory { gibibytes } bandwidth { gigabytesPerSecond } teraflops }
    }
    carrying: chips(first: 1, filter: { and: [$chips, { state: { in: [UP, DEGRADED] } }] }) { totalCount nodes { address } }
    servers(first: 1, filter: $servers) { totalCount aggregates { memory { gibibytes } } }
    nics(first: 1, filter: $nics) { totalCount aggregates { bandwidth { gigabytesPerSecond } } }
    networkNodes(first: 1, filter: $nodes) { totalCount }
    links(first: 1, filter: { and: [$links, { scope: { in: [SERVER, RACK, DOMAIN] } }] }) { aggregates { bandwidth { gigabytesPerSecond } } }
    domains(first: 1, filter: $domains) { totalCount }
    chip: chips(first: 1000, filter: { and: [$chips, { state: { ne: UP } }] }) {
      nodes { address state }
      aggregates(by: [STATE]) { state count }
    }
    server: servers(first: 1, filter: { and: [$servers, { state: { ne: UP } }] }) { aggregates(by: [STATE]) { state count } }
    nic: nics(first: 1, filter: { and: [$nics, { state: { ne: UP } }] }) { aggregates(by: [STATE]) { state count } }
    switch: switches(first: 1, filter: { and: [$switches, { state: { ne: UP } }] }) { aggregates(by: [STATE]) { state count } }
    link: links(first: 1, filter: { and: [$links, { state: { ne: UP } }] }) { aggregates(by: [STATE]) { state count } }
  }
`);

const WIRING_NUMBERS = graphql(`
  query CompareWiring($scope: Address!) {
    bisection(scope: $scope) { sideA sideB reason lower { gigabytesPerSecond } upper { gigabytesPerSecond } }
    collectives(scope: $scope) {
      allGather { upper { gigabytesPerSecond } }
      allToAll { upper { gigabytesPerSecond } }
    }
    distances(scope: $scope) { diameter mean reason }
  }
`);

const REACH = graphql(`
  query CompareReach($scope: Address!) { memoryPool(scope: $scope) { scope memory { gibibytes } } }
`);

export const SUGGESTED = makeQuery(
  graphql(`
    query CompareWhat {
      clusters(first: 100) { nodes { address domains(first: 2) { nodes { address } } } }
      systems { slug }
    }
  `),
  {},
);

/** A place; `design` is its system if no cluster of it is seeded. */
export type Size = Result<typeof SIZE> & { design?: string };
export type WiringNumbers = Result<typeof WIRING_NUMBERS> & { reach: number | null };

/** The answer or error for one place; undefined while loading. */
export type Outcome<T> = { data: T; error?: undefined } | { data?: undefined; error: ApiError };

/** The event before the first change: as seeded, with all parts up. */
export const HEALTHY = "0";

const sizeQuery = (address: string) => {
  const place = address.includes("/") ? { domain: { eq: address } } : { cluster: { eq: address } };
  return makeQuery(SIZE, {
    address: address,
    chips: place,
    servers: place,
    nics: place,
    switches: place,
    links: place,
    domains: address.includes("/") ? { address: { eq: address } } : place,
    nodes: { cluster: { eq: address.split("/")[0] ?? address } },
  });
};

const settle = <T>(promise: Promise<T>): Promise<Outcome<T>> =>
  promise.then(
    (data) => ({ data }),
    (error) => {
      if (error instanceof DOMException) throw error;
      return { error };
    },
  );

/** Load a place at a time, or the documented system of that name if there is no place. */
async function sizeOf(place: string, at: string | undefined, signal: AbortSignal): Promise<Outcome<Size>> {
  const result = await settle<Size>(runQuery({ ...sizeQuery(place), at }, signal));
  if (result.error?.code !== "UNKNOWN_ADDRESS") return result;
  const design = designOf(place, await runQuery({ ...SYSTEMS, at: "" }, signal));
  return design ? { data: design } : result;
}

/** Load the sizes of several places at a time; undefined: the page's time. */
export function useSizes(places: string[], at: string | undefined) {
  return useLoaded(places.length ? `sizes ${places} ${at}` : null, (signal) =>
    Promise.all(places.map((place) => sizeOf(place, at, signal))),
  );
}

/** Load what the wiring of several places allows; memory within reach is that of a healthy chip. */
export function useWiringNumbers(places: string[], sizes: Outcome<Size>[] | undefined, at: string | undefined) {
  const first = places.map((_, index) => sizes?.[index]?.data?.carrying.nodes[0]?.address ?? "");
  return useLoaded(sizes ? `wired ${places} ${first} ${at}` : null, (signal) =>
    Promise.all(
      places.map((place, index) =>
        sizes?.[index]?.data?.design
          ? undefined
          : settle(
              Promise.all([
                runQuery({ ...makeQuery(WIRING_NUMBERS, { scope: place }), at }, signal),
                first[index]
                  ? settle(runQuery({ ...makeQuery(REACH, { scope: first[index] }), at }, signal))
                  : undefined,
              ]).then(
                ([wired, reach]): WiringNumbers => ({
                  ...wired,
                  reach: reach?.data?.memoryPool.memory.gibibytes ?? null,
                }),
              ),
            ),
      ),
    ),
  );
}

export const queriesOf = (places: string[]) =>
  places.flatMap((place) => [sizeQuery(place), makeQuery(WIRING_NUMBERS, { scope: place })]);

/** Unhealthy parts of a place. */
export const unhealthyCounts = (size: Size): Count[] =>
  (["chip", "server", "nic", "switch", "link"] as const).flatMap((kind) =>
    size[kind].aggregates.map(({ state, count }) => ({ kind, state: state ?? "down", count })),
  );
