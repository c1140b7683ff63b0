// The metrics of a comparison: how each is read from the answers, and whether more or less is better.
import type { Size, WiringNumbers } from "./documents";

export interface Answers {
  size: Size;
  wired: WiringNumbers | undefined;
}

export interface Metric {
  name: string;
  unit: string;
  description: string;
  read: (answers: Answers) => number | null | undefined;
  /** Whether more or less is better; undefined: neither. */
  better?: "more" | "less";
  /** Whether it depends on the halves of a bisection, whose sizes may differ. */
  halves?: true;
}

const per = (whole: number | null | undefined, count: number) => (whole && count ? whole / count : whole);
const sum = (items: { aggregates: { bandwidth: { gigabytesPerSecond: number } | null }[] }) =>
  items.aggregates[0]?.bandwidth?.gigabytesPerSecond ?? 0;
const bisection = ({ wired }: Answers) => wired?.bisection.upper.gigabytesPerSecond;

/** Groups of metrics in the order of the page. */
export const GROUPS: [string, Metric[]][] = [
  [
    "Size",
    [
      {
        name: "Working chips",
        unit: "",
        description: "up or degraded",
        read: ({ size }) => size.carrying.totalCount,
        better: "more",
      },
      {
        name: "Chips",
        unit: "",
        description: "in any state",
        read: ({ size }) => size.chips.totalCount,
        better: "more",
      },
      { name: "Servers", unit: "", description: "in any state", read: ({ size }) => size.servers.totalCount },
    ],
  ],
  [
    "Memory",
    [
      {
        name: "HBM",
        unit: "GiB",
        description: "all chips, in any state",
        read: ({ size }) => size.chips.aggregates[0]?.memory?.gibibytes,
        better: "more",
      },
      {
        name: "Reachable HBM",
        unit: "GiB",
        description: "from the first working chip, over scale-up links",
        read: ({ wired }) => wired?.reach,
        better: "more",
      },
      {
        name: "HBM bandwidth",
        unit: "GB/s",
        description: "all chips, in any state",
        read: ({ size }) => sum(size.chips),
        better: "more",
      },
      {
        name: "Host memory",
        unit: "GiB",
        description: "all servers",
        read: ({ size }) => size.servers.aggregates[0]?.memory?.gibibytes,
        better: "more",
      },
    ],
  ],
  [
    "Compute",
    [
      {
        name: "BF16 compute",
        unit: "TFLOPS",
        description: "dense, all chips, in any state",
        read: ({ size }) => size.chips.aggregates[0]?.teraflops,
        better: "more",
      },
    ],
  ],
  [
    "Wiring, one direction",
    [
      {
        name: "Bisection",
        unit: "GB/s",
        description: "least capacity between two halves of the working chips; a proven upper bound",
        read: bisection,
        better: "more",
        halves: true,
      },
      {
        name: "Bisection per chip",
        unit: "GB/s",
        description: "divided by the chips in both halves",
        read: (answers) =>
          per(bisection(answers), (answers.wired?.bisection.sideA ?? 0) + (answers.wired?.bisection.sideB ?? 0)),
        better: "more",
        halves: true,
      },
      {
        name: "All-gather",
        unit: "GB/s",
        description: "most bus bandwidth that the wiring allows",
        read: ({ wired }) => wired?.collectives.allGather.upper.gigabytesPerSecond,
        better: "more",
      },
      {
        name: "All-to-all",
        unit: "GB/s",
        description: "most that each chip can send to all others",
        read: ({ wired }) => wired?.collectives.allToAll.upper.gigabytesPerSecond,
        better: "more",
      },
      {
        name: "Scale-up links",
        unit: "GB/s",
        description: "total when healthy",
        read: ({ size }) => sum(size.links),
        better: "more",
      },
      {
        name: "Diameter",
        unit: "hops",
        description: "most hops between two connected chips",
        read: ({ wired }) => wired?.distances.diameter,
        better: "less",
      },
      {
        name: "Mean distance",
        unit: "hops",
        description: "over all connected pairs",
        read: ({ wired }) => wired?.distances.mean,
        better: "less",
      },
    ],
  ],
  [
    "EFA fabric",
    [
      { name: "NICs", unit: "", description: "EFA devices", read: ({ size }) => size.nics.totalCount, better: "more" },
      {
        name: "EFA bandwidth",
        unit: "GB/s",
        description: "all NICs, one direction, when healthy",
        read: ({ size }) => sum(size.nics),
        better: "more",
      },
      {
        name: "EFA bandwidth per chip",
        unit: "GB/s",
        description: "all NICs divided by all chips",
        read: ({ size }) => per(sum(size.nics), size.chips.totalCount),
        better: "more",
      },
      {
        name: "Network nodes",
        unit: "",
        description: "in the cluster",
        read: ({ size }) => size.networkNodes.totalCount,
      },
    ],
  ],
];

/** Return the indices of the best values; none if all are equal. */
export function best(values: (number | null | undefined)[], better: Metric["better"]): Set<number> {
  const numbers = values.filter((value): value is number => typeof value === "number");
  if (!better || numbers.length < 2 || numbers.every((value) => value === numbers[0])) return new Set();
  const most = better === "more" ? Math.max(...numbers) : Math.min(...numbers);
  return new Set(values.flatMap((value, index) => (value === most ? [index] : [])));
}
