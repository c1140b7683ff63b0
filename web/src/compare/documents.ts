// GraphQL documents of the Compare page's heads, and the places that it compares.
import { type ApiError, graphql, makeQuery, type Result, runQuery, useLoaded } from "../api";
import { worstFirst } from "../health";
import type { Count } from "../state";
import { designOf, SYSTEMS } from "./design";

const SIZE = graphql(`
  query CompareSize(
    $address: Address!, $chips: ChipFilter!, $servers: ServerFilter!, $nics: NicFilter!, $switches: SwitchFilter!
    $links: LinkFilter!, $domains: DomainFilter!
  ) {
    resolve(address: $address) { __typename address ... on Domain { model } ... on Cluster { system } }
    chips(first: 1, filter: $chips) { totalCount }
    carrying: chips(first: 1, filter: { and: [$chips, { state: { in: [UP, DEGRADED] } }] }) { nodes { address } }
    servers(first: 1, filter: $servers) { totalCount }
    switches(first: 1, filter: $switches) { totalCount }
    domains(first: 4, filter: $domains) {
      totalCount
      nodes { servers(first: 1) { totalCount nodes { chips(first: 1) { totalCount } } } switches(first: 1) { totalCount } }
    }
    chip: chips(first: 1000, filter: { and: [$chips, { state: { ne: UP } }] }) {
      nodes { address state }
      aggregates(by: [STATE]) { state count }
    }
    server: servers(first: 1, filter: { and: [$servers, { state: { ne: UP } }] }) { aggregates(by: [STATE]) { state count } }
    nic: nics(first: 1000, filter: { and: [$nics, { state: { ne: UP } }] }) {
      nodes { address state }
      aggregates(by: [STATE]) { state count }
    }
    switch: switches(first: 1000, filter: { and: [$switches, { state: { ne: UP } }] }) {
      nodes { address state }
      aggregates(by: [STATE]) { state count }
    }
    link: links(first: 1000, filter: { and: [$links, { state: { ne: UP } }] }) {
      nodes { address state }
      aggregates(by: [STATE]) { state count }
    }
  }
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

export type Design = NonNullable<ReturnType<typeof designOf>>;
/** A place; `design` is its system if no cluster of it is seeded. */
export type Size = Result<typeof SIZE> & { design?: Design };

/** The answer or error for one place. */
export type Outcome<T> = { data: T; error?: undefined } | { data?: undefined; error: ApiError };

/** The event before the first change: as seeded, with all parts up. */
export const HEALTHY = "0";

/** The condition on parts of a place. */
export const filterOf = (address: string) =>
  address.includes("/") ? { domain: { eq: address } } : { cluster: { eq: address } };

export const sizeQuery = (address: string) => {
  const place = filterOf(address);
  return makeQuery(SIZE, {
    address: address,
    chips: place,
    servers: place,
    nics: place,
    switches: place,
    links: place,
    domains: address.includes("/") ? { address: { eq: address } } : place,
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
  return design ? { data: sizeOfDesign(design) } : result;
}

const NONE = { nodes: [], aggregates: [] };
/** The domains of which the query asks the sizes. */
const DRAWN = 4;

/** A domain as the documents have it, which say nothing of switches here. */
const domainOf = ({ domains, servers, chips }: Design) => ({
  servers: { totalCount: servers / domains, nodes: [{ chips: { totalCount: chips / servers } }] },
  switches: { totalCount: 0 },
});

const sizeOfDesign = (design: Design): Size => ({
  design,
  resolve: { __typename: "Cluster", address: design.slug, system: design.name },
  chips: { totalCount: design.chips },
  carrying: { nodes: [] },
  servers: { totalCount: design.servers },
  switches: { totalCount: 0 },
  domains: { totalCount: design.domains, nodes: Array(Math.min(design.domains, DRAWN)).fill(domainOf(design)) },
  chip: NONE,
  server: NONE,
  nic: NONE,
  switch: NONE,
  link: NONE,
});

/** Load what the heads of several places need, at a time; undefined: the page's time. */
export function useSizes(places: string[], at: string | undefined) {
  return useLoaded(places.length ? `sizes ${places} ${at}` : null, (signal) =>
    Promise.all(places.map((place) => sizeOf(place, at, signal))),
  );
}

/** Unhealthy parts of a place in the order of the Fleet page. */
export function unhealthyCounts(size: Size): Count[] {
  const counts = (["chip", "server", "switch", "link", "nic"] as const).flatMap((kind) =>
    size[kind].aggregates.map(({ state, count }) => ({ kind, state: state ?? "down", count })),
  );
  return counts.sort(worstFirst);
}
