// Actions for one part: set its state, ask about it, assume it down.
import { proposeState, useCanWrite, useViewer } from "../change/proposal";
import { useAsOf } from "../live";
import { href, useRoute } from "../route";
import { relativeTo } from "../words";
import type { PanelPart } from "./documents";

export function Actions({
  part,
  domain,
}: {
  part: Pick<PanelPart, "address" | "state" | "__typename">;
  domain: string;
}) {
  const route = useRoute();
  const may = useCanWrite();
  const propose = () => proposeState({ places: [part.address], state: part.state === "up" ? "down" : "up" });
  const options = route.view === "domain" && route.subject === domain ? route.options : {};
  const short = relativeTo(domain, part.address);
  const assumed = (options.down ?? "").split(",").filter(Boolean);
  const rest = assumed.filter((address) => address !== short);
  const isSupposed = rest.length < assumed.length;
  const to = (more: Record<string, string | undefined>) => href("domain", domain, { ...options, sel: short, ...more });
  return (
    <>
      <div class="inner row actions">
        {may && (
          <button type="button" class="main" data-writes aria-haspopup="dialog" aria-keyshortcuts="S" onClick={propose}>
            Set state…
          </button>
        )}
        {domain && part.__typename === "Chip" && (
          <>
            <a class="button" href={to({ from: short })}>
              Path from it
            </a>
            <a class="button" href={to({ to: short })}>
              Path to it
            </a>
          </>
        )}
        {domain && (isSupposed || part.state === "up" || part.state === "degraded") && (
          <a class="button" href={to({ down: [...rest, ...(isSupposed ? [] : [short])].join(",") || undefined })}>
            {isSupposed ? "Remove from scenario" : "What if down?"}
          </a>
        )}
      </div>
      <MissingScope />
    </>
  );
}

/** Say which token scope the missing buttons need. */
export function MissingScope() {
  const viewer = useViewer();
  const { asof } = useAsOf();
  if (!viewer || asof || viewer.scopes.includes("OPERATE")) return null;
  return (
    <p class="inner quiet">
      Setting a state requires a token with scope operate. {viewer.name} has scope {viewer.scope.toLowerCase()}.
    </p>
  );
}
