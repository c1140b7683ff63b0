// The metrics of a comparison: the request for each, how its answer is read, and whether more or less is better.
import { graphql, makeQuery, type Query, type Result } from "../api";
import { type Design, filterOf, type Size } from "./documents";

const CHIPS = graphql(`
  query CompareChips($filter: ChipFilter!) {
    chips(first: 1, filter: $filter) {
      totalCount
      aggregates { memory { gibibytes } bandwidth { gigabytesPerSecond } teraflops }
      models: aggregates(by: [MODEL]) { count }
      nodes { model { facts { subject attribute picked dispute } } }
    }
  }
`);
const WORKING = graphql(`
  query CompareWorking($filter: ChipFilter!) {
    chips(first: 1, filter: $filter) { totalCount }
    working: chips(first: 1, filter: { and: [$filter, { state: { in: [UP, DEGRADED] } }] }) { totalCount }
  }
`);
/** A link between chips leads out of two of them, one to a switch out of one. */
const CHIP_LINKS = graphql(`
  query CompareChipLinks($chips: ChipFilter!, $links: LinkFilter!, $hasSwitches: Boolean!) {
    chips(first: 1, filter: $chips) {
      totalCount
      models: aggregates(by: [MODEL]) { count }
      nodes { model { facts(attribute: "neuronlink_bandwidth") { subject attribute picked dispute } } }
    }
    links(first: 1, filter: { and: [$links, { scope: { in: [SERVER, RACK, DOMAIN] } }] }) {
      aggregates { bandwidth { gigabytesPerSecond } }
    }
    toSwitches: links(
      first: 1, filter: { and: [$links, { scope: { in: [SERVER, RACK, DOMAIN] }, address: { contains: "/sw" } }] }
    ) @include(if: $hasSwitches) { aggregates { bandwidth { gigabytesPerSecond } } }
  }
`);
const NICS = graphql(`
  query CompareNics($nics: NicFilter!, $chips: ChipFilter!) {
    nics(first: 1, filter: $nics) { totalCount aggregates { bandwidth { gigabytesPerSecond } } }
    chips(first: 1, filter: $chips) { totalCount }
  }
`);
const SERVERS = graphql(`
  query CompareServers($servers: ServerFilter!, $chips: ChipFilter!) {
    servers(first: 1, filter: $servers) { totalCount aggregates { memory { gibibytes } } }
    chips(first: 1, filter: $chips) { totalCount }
  }
`);
const NETWORK_NODES = graphql(`
  query CompareNetworkNodes($filter: NetworkNodeFilter!) { networkNodes(first: 1, filter: $filter) { totalCount } }
`);
const BISECTION = graphql(`
  query CompareBisection($scope: Address!) {
    bisection(scope: $scope) { sideA sideB reason upper { gigabytesPerSecond } }
  }
`);
const COLLECTIVES = graphql(`
  query CompareCollectives($scope: Address!) {
    collectives(scope: $scope) { allGather { upper { gigabytesPerSecond } links { address } } allToAll { upper { gigabytesPerSecond } } }
  }
`);
const DISTANCES = graphql(`
  query CompareDistances($scope: Address!) { distances(scope: $scope) { diameter mean reason } }
`);
const REACH = graphql(`
  query CompareReach($scope: Address!) { memoryPool(scope: $scope) { scope memory { gibibytes } } }
`);

/** What a cell shows. */
export interface Reading {
  /** Null: not known, for the reason. */
  value: number | null | undefined;
  reason?: string | null | undefined;
  /** The part whose links limit it, if they share one and unhealthy parts limit it. */
  limitedBy?: string | undefined;
  /** The chip that it is of. */
  from?: string;
  /** Chips of both halves of a bisection; those of other sizes don't compare. */
  halves?: number;
  /** The documented number that it comes from, if sources disagree on it. */
  disputed?: { of: string; dispute: string } | undefined;
}

export interface Metric {
  name: string;
  unit: string;
  description: string;
  /** Whether more or less is better; undefined: neither. */
  better?: "more" | "less";
  /** Whether the service solves something for it, so that it is asked for last. */
  isSolved?: boolean;
  /** The request for a place; null if the place has none. */
  query: (place: string, size: Size) => Query | null;
  read: (data: unknown) => Reading;
  /** The value that documents have for a system that is not seeded. */
  design?: (system: Design) => number | null;
}

type Words = Pick<Metric, "name" | "unit" | "description" | "better" | "isSolved">;

/** Declare a metric by its document. */
const metric = <D>(
  words: Words,
  query: (place: string, size: Size) => Query<D> | null,
  read: (data: Result<D>) => Reading | number | null | undefined,
  design?: Metric["design"],
): Metric => ({
  ...words,
  query: query as Metric["query"],
  read: (data) => {
    const reading = read(data as Result<D>);
    return typeof reading === "object" && reading !== null ? reading : { value: reading };
  },
  ...(design && { design }),
});

const chips = (place: string) => makeQuery(CHIPS, { filter: filterOf(place) });
const working = (place: string) => makeQuery(WORKING, { filter: filterOf(place) });
const chipLinks = (place: string, { switches }: Size) =>
  makeQuery(CHIP_LINKS, {
    chips: filterOf(place),
    links: filterOf(place),
    hasSwitches: switches.totalCount > 0,
  });
const nics = (place: string) => makeQuery(NICS, { nics: filterOf(place), chips: filterOf(place) });
const servers = (place: string) => makeQuery(SERVERS, { servers: filterOf(place), chips: filterOf(place) });
const bisection = (place: string) => makeQuery(BISECTION, { scope: place });
const collectives = (place: string) => makeQuery(COLLECTIVES, { scope: place });
const distances = (place: string) => makeQuery(DISTANCES, { scope: place });
const networkNodes = (place: string) =>
  makeQuery(NETWORK_NODES, { filter: { cluster: { eq: place.split("/")[0] ?? place } } });
const reach = (_: string, { carrying }: Size) => {
  const first = carrying.nodes[0];
  return first ? makeQuery(REACH, { scope: first.address }) : null;
};

const per = (whole: number | null | undefined, count: number) => (whole && count ? whole / count : whole);
type Bandwidths = { aggregates: { bandwidth: { gigabytesPerSecond: number } | null }[] };
const bandwidth = ({ aggregates }: Bandwidths) => aggregates[0]?.bandwidth?.gigabytesPerSecond ?? 0;

type Documented = {
  models: readonly unknown[];
  nodes: readonly {
    model: { facts: readonly { subject: string; attribute: string; picked: boolean; dispute: string | null }[] };
  }[];
};

/** A value of each chip, with what sources dispute of it: of several models, of the first, by its name. */
function documented(value: number | null | undefined, { nodes, models }: Documented, of: string): Reading {
  const fact = nodes[0]?.model.facts.find(({ attribute, picked }) => picked && attribute === of);
  if (!fact?.dispute) return { value };
  const dispute = models.length > 1 ? `${fact.subject}: ${fact.dispute}` : fact.dispute;
  return { value, disputed: { of: `${fact.subject} ${of}`, dispute } };
}

type Bisected = {
  bisection: { sideA: number; sideB: number; reason: string | null; upper: { gigabytesPerSecond: number } };
};
const halves = ({ bisection: { sideA, sideB, reason, upper } }: Bisected, isPerChip: boolean): Reading => ({
  value: isPerChip ? per(upper.gigabytesPerSecond, (sideA + sideB) / 2) : upper.gigabytesPerSecond,
  reason,
  halves: sideA + sideB,
});

/** The end that all of several links have: a chip whose links limit a collective. */
function sharedEnd(links: string[]): string | undefined {
  const [first = [], ...rest] = links.map((address) => address.split("--"));
  return rest.length ? first.find((end) => rest.every((ends) => ends.includes(end))) : undefined;
}

export const TOTALS = "Totals";

/** Groups of metrics in the order of the page: title, remark, metrics. */
export const GROUPS: [title: string, remark: string, metrics: Metric[]][] = [
  [
    "Per chip",
    "when up, from the documents and the inventory",
    [
      metric(
        { name: "BF16 compute", unit: "TFLOPS", description: "dense", better: "more" },
        chips,
        ({ chips }) => documented(per(chips.aggregates[0]?.teraflops, chips.totalCount), chips, "bf16_compute"),
        ({ teraflops, chips }) => teraflops && teraflops / chips,
      ),
      metric(
        { name: "HBM", unit: "GiB", description: "capacity", better: "more" },
        chips,
        ({ chips }) =>
          documented(per(chips.aggregates[0]?.memory?.gibibytes, chips.totalCount), chips, "device_memory"),
        ({ memory, chips }) => memory && memory.gibibytes / chips,
      ),
      metric(
        { name: "HBM bandwidth", unit: "GB/s", description: "", better: "more" },
        chips,
        ({ chips }) => documented(per(bandwidth(chips), chips.totalCount), chips, "device_memory_bandwidth"),
        ({ memoryBandwidth, chips }) => memoryBandwidth && memoryBandwidth.gigabytesPerSecond / chips,
      ),
      metric(
        { name: "Scale-up links", unit: "GB/s", description: "out of a chip", better: "more" },
        chipLinks,
        ({ chips, links, toSwitches }) => {
          const whole = 2 * bandwidth(links) - (toSwitches ? bandwidth(toSwitches) : 0);
          return documented(per(whole, chips.totalCount), chips, "neuronlink_bandwidth");
        },
      ),
      metric(
        { name: "EFA", unit: "GB/s", description: "out of a chip", better: "more" },
        nics,
        ({ nics, chips }) => per(bandwidth(nics), chips.totalCount),
        ({ efaBandwidth, chips }) => efaBandwidth && efaBandwidth.gigabytesPerSecond / chips,
      ),
      metric(
        { name: "Host memory", unit: "GiB", description: "share of a chip", better: "more" },
        servers,
        ({ servers, chips }) => per(servers.aggregates[0]?.memory?.gibibytes, chips.totalCount),
        ({ hostMemory, chips }) => hostMemory && hostMemory.gibibytes / chips,
      ),
    ],
  ],
  [
    "Wiring, per chip",
    "as links carry traffic, one direction; in a cluster over NeuronLinks and EFA together",
    [
      metric(
        {
          name: "Bisection per chip",
          unit: "GB/s",
          description: "of a half of the working chips",
          better: "more",
          isSolved: true,
        },
        bisection,
        (data) => halves(data, true),
      ),
      metric(
        { name: "All-gather limit", unit: "GB/s", description: "bus bandwidth", better: "more", isSolved: true },
        collectives,
        ({ collectives: { allGather } }) => ({
          value: allGather.upper.gigabytesPerSecond,
          limitedBy: sharedEnd(allGather.links.map(({ address }) => address)),
        }),
      ),
      metric(
        {
          name: "All-to-all limit",
          unit: "GB/s",
          description: "each chip to all others",
          better: "more",
          isSolved: true,
        },
        collectives,
        ({ collectives }) => collectives.allToAll.upper.gigabytesPerSecond,
      ),
      metric(
        { name: "Mean distance", unit: "hops", description: "connected pairs", better: "less", isSolved: true },
        distances,
        ({ distances: { mean, reason } }) => ({ value: mean, reason }),
      ),
      metric(
        { name: "Diameter", unit: "hops", description: "farthest connected pair", better: "less", isSolved: true },
        distances,
        ({ distances: { diameter, reason } }) => ({ value: diameter, reason }),
      ),
    ],
  ],
  [
    "Availability",
    "at the time shown",
    [
      metric(
        { name: "Working chips", unit: "%", description: "up or degraded, of all", better: "more" },
        working,
        ({ chips, working }) => per(100 * working.totalCount, chips.totalCount),
      ),
    ],
  ],
  [
    TOTALS,
    "sizes differ: read these last",
    [
      metric(
        { name: "Chips", unit: "", description: "in any state", better: "more" },
        chips,
        ({ chips }) => chips.totalCount,
        ({ chips }) => chips,
      ),
      metric(
        { name: "Servers", unit: "", description: "in any state" },
        servers,
        ({ servers }) => servers.totalCount,
        ({ servers }) => servers,
      ),
      metric(
        { name: "Total HBM", unit: "GiB", description: "all chips", better: "more" },
        chips,
        ({ chips }) => chips.aggregates[0]?.memory?.gibibytes,
        ({ memory }) => memory?.gibibytes ?? null,
      ),
      metric(
        {
          name: "Memory pool",
          unit: "GiB",
          description: "from one chip, over scale-up links",
          better: "more",
          isSolved: true,
        },
        reach,
        ({ memoryPool }) => ({ value: memoryPool.memory.gibibytes, from: memoryPool.scope }),
      ),
      metric(
        {
          name: "Bisection",
          unit: "GB/s",
          description: "between halves of the working chips",
          better: "more",
          isSolved: true,
        },
        bisection,
        (data) => halves(data, false),
      ),
      metric(
        { name: "EFA bandwidth", unit: "GB/s", description: "all NICs", better: "more" },
        nics,
        ({ nics }) => bandwidth(nics),
        ({ efaBandwidth }) => efaBandwidth?.gigabytesPerSecond ?? null,
      ),
      metric(
        { name: "Network nodes", unit: "", description: "in the cluster" },
        networkNodes,
        ({ networkNodes }) => networkNodes.totalCount,
        ({ networkNodes }) => networkNodes,
      ),
    ],
  ],
];

export const METRICS = GROUPS.flatMap(([, , metrics]) => metrics);

/** Values that differ by less than this share are equal: their ratio reads × 1.00. */
const TIE = 0.005;

/** Return the indices of the best values; none if all are about equal. */
export function best(values: (number | null | undefined)[], better: Metric["better"]): Set<number> {
  const numbers = values.filter((value): value is number => typeof value === "number");
  const most = better === "more" ? Math.max(...numbers) : Math.min(...numbers);
  const isBest = (value: number | null | undefined) =>
    typeof value === "number" && Math.abs(value - most) <= TIE * Math.abs(most);
  if (!better || numbers.length < 2 || numbers.every(isBest)) return new Set();
  return new Set(values.flatMap((value, index) => (isBest(value) ? [index] : [])));
}
