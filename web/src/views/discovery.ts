// What feeds the inventory: targets that trninv discover reads, and tools whose output is imported.

interface Target {
  target: string;
  readAt: string | null;
  late: boolean;
  everySeconds: number | null;
  error: string | null;
  clusters: string | null;
}

export interface DiscoveryAnswer {
  discoveries: { nodes: Target[] };
  observations: { nodes: { source: string; seenAt: string }[] };
}

export interface Feed {
  name: string;
  seenAt: string | null;
  /** Why it is behind, in the words of trninv status: late or failing; empty: it is not. */
  trouble: string;
  /** The message of the latest pull, if it failed. */
  error: string | null;
  /** Seconds between pulls; null: it is read or imported by hand. */
  everySeconds: number | null;
  isImported: boolean;
  /** Clusters that it reports about. */
  clusters: string[];
}

const troubleOf = ({ late, error }: Target) => (late ? "late" : error ? "failing" : "");

/** Return what feeds the inventory, the ones in trouble first, then the latest. */
export function feedsOf({ discoveries, observations }: DiscoveryAnswer): Feed[] {
  const targets = discoveries.nodes.map((discovery): Feed => {
    const { target, readAt, error, everySeconds, clusters } = discovery;
    const trouble = troubleOf(discovery);
    return {
      name: target,
      seenAt: readAt,
      trouble,
      error,
      everySeconds,
      isImported: false,
      clusters: clusters?.split(" ") ?? [],
    };
  });
  const tools = new Map<string, string>();
  for (const { source, seenAt } of observations.nodes)
    if (seenAt > (tools.get(source) ?? "")) tools.set(source, seenAt);
  const imported = [...tools].map(
    ([name, seenAt]): Feed => ({
      name,
      seenAt,
      trouble: "",
      error: null,
      everySeconds: null,
      isImported: true,
      clusters: [],
    }),
  );
  return [...targets, ...imported].sort(
    (a, b) => Number(Boolean(b.trouble)) - Number(Boolean(a.trouble)) || (b.seenAt ?? "").localeCompare(a.seenAt ?? ""),
  );
}
