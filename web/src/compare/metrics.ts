// What is compared: how each number is read from the answers, and which way is better.
import type { Size, Wired } from "./documents";

export interface Answers {
  size: Size;
  wired: Wired | undefined;
}

export interface Metric {
  name: string;
  unit: string;
  says: string;
  of: (answers: Answers) => number | null | undefined;
  /** More, or less, is better; nothing: neither. */
  better?: "more" | "less";
  /** Rests on the halves of a bisection, which may be of other sizes. */
  halves?: true;
}

const per = (whole: number | null | undefined, count: number) => (whole && count ? whole / count : whole);
const sum = (of: { aggregates: { bandwidth: { gigabytesPerSecond: number } | null }[] }) =>
  of.aggregates[0]?.bandwidth?.gigabytesPerSecond ?? 0;
const bisection = ({ wired }: Answers) => wired?.bisection.upper.gigabytesPerSecond;

/** Groups of metrics, in the order in which they are shown. */
export const GROUPS: [string, Metric[]][] = [
  [
    "Size",
    [
      {
        name: "Working chips",
        unit: "",
        says: "up or degraded",
        of: ({ size }) => size.carrying.totalCount,
        better: "more",
      },
      { name: "Chips", unit: "", says: "in any state", of: ({ size }) => size.chips.totalCount, better: "more" },
      { name: "Servers", unit: "", says: "in any state", of: ({ size }) => size.servers.totalCount },
    ],
  ],
  [
    "Memory",
    [
      {
        name: "HBM",
        unit: "GiB",
        says: "all chips, in any state",
        of: ({ size }) => size.chips.aggregates[0]?.memory?.gibibytes,
        better: "more",
      },
      {
        name: "Reachable HBM",
        unit: "GiB",
        says: "from the first working chip, over scale-up links",
        of: ({ wired }) => wired?.reach,
        better: "more",
      },
      {
        name: "HBM bandwidth",
        unit: "GB/s",
        says: "all chips, in any state",
        of: ({ size }) => sum(size.chips),
        better: "more",
      },
      {
        name: "Host memory",
        unit: "GiB",
        says: "all servers",
        of: ({ size }) => size.servers.aggregates[0]?.memory?.gibibytes,
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
        says: "dense, all chips, in any state",
        of: ({ size }) => size.chips.aggregates[0]?.teraflops,
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
        says: "least capacity between two halves of the working chips; a proven upper bound",
        of: bisection,
        better: "more",
        halves: true,
      },
      {
        name: "Bisection per chip",
        unit: "GB/s",
        says: "divided by the chips in both halves",
        of: (answers) =>
          per(bisection(answers), (answers.wired?.bisection.sideA ?? 0) + (answers.wired?.bisection.sideB ?? 0)),
        better: "more",
        halves: true,
      },
      {
        name: "All-gather",
        unit: "GB/s",
        says: "most bus bandwidth that the wiring allows",
        of: ({ wired }) => wired?.collectives.allGather.upper.gigabytesPerSecond,
        better: "more",
      },
      {
        name: "All-to-all",
        unit: "GB/s",
        says: "most that each chip can send to all others",
        of: ({ wired }) => wired?.collectives.allToAll.upper.gigabytesPerSecond,
        better: "more",
      },
      {
        name: "Scale-up links",
        unit: "GB/s",
        says: "total when healthy",
        of: ({ size }) => sum(size.links),
        better: "more",
      },
      {
        name: "Diameter",
        unit: "hops",
        says: "most hops between two connected chips",
        of: ({ wired }) => wired?.distances.diameter,
        better: "less",
      },
      {
        name: "Mean distance",
        unit: "hops",
        says: "over all connected pairs",
        of: ({ wired }) => wired?.distances.mean,
        better: "less",
      },
    ],
  ],
  [
    "EFA fabric",
    [
      { name: "NICs", unit: "", says: "EFA devices", of: ({ size }) => size.nics.totalCount, better: "more" },
      {
        name: "EFA bandwidth",
        unit: "GB/s",
        says: "all NICs, one direction, when healthy",
        of: ({ size }) => sum(size.nics),
        better: "more",
      },
      {
        name: "EFA bandwidth per chip",
        unit: "GB/s",
        says: "all NICs divided by all chips",
        of: ({ size }) => per(sum(size.nics), size.chips.totalCount),
        better: "more",
      },
      {
        name: "Network nodes",
        unit: "",
        says: "in the cluster",
        of: ({ size }) => size.networkNodes.totalCount,
      },
    ],
  ],
];

/** Which of some values are the best; none where all are the same. */
export function best(values: (number | null | undefined)[], better: Metric["better"]): Set<number> {
  const known = values.filter((value): value is number => typeof value === "number");
  if (!better || known.length < 2 || known.every((value) => value === known[0])) return new Set();
  const most = better === "more" ? Math.max(...known) : Math.min(...known);
  return new Set(values.flatMap((value, at) => (value === most ? [at] : [])));
}
