// Actions of the palette: open a hit, go to a view, switch the theme, copy the page's queries.
import { curl, openQueries } from "../api";
import { proposeState } from "../change/proposal";
import { domainOf } from "../panel/panel";
import { href, type Route, selectedAddress } from "../route";
import type { IconName } from "../shell/icons";
import { showKeys } from "../shell/keys";
import { chooseTheme, THEMES } from "../shell/theme";
import { relativeTo, shortenAddress } from "../words";
import type { Hit } from "./documents";

export interface Action {
  name: string;
  icon: IconName;
  /** A link, or a function to run. */
  does: string | (() => void);
}

/** The selected part, or else the page's subject. */
export const currentAddress = (route: Route) =>
  selectedAddress(route) || (route.subject.includes("/") || route.view === "cluster" ? route.subject : "");

const VIEWS: Record<string, string> = { cluster: "cluster", domain: "domain", rack: "rack" };

/** The view of a hit; an open domain keeps its question. */
export function hrefOf({ kind, name, address }: Hit, route: Route): string {
  if (kind === "job") return href("jobs", "", { sel: name });
  if (address === null) return href("reports", name);
  const view = VIEWS[kind];
  if (view) return href(view, address);
  const domain = kind === "core" ? "" : domainOf(address);
  return domain
    ? href("domain", domain, { ...domainOptions(domain, route), sel: relativeTo(domain, address) })
    : href("at", address);
}

const domainOptions = (domain: string, route: Route) =>
  route.view === "domain" && route.subject === domain ? route.options : {};

const PLACES: [string, IconName, string][] = [
  ["home", "fleet", "Fleet"],
  ["incidents", "incidents", "Incidents"],
  ["jobs", "jobs", "Jobs"],
  ["reports", "reports", "Reports"],
  ["sources", "sources", "Sources"],
  ["disagreements", "sources", "Disagreements"],
];

const ALWAYS: Action[] = [
  ...PLACES.map(([place, icon, name]) => ({ name: `Go to ${name}`, icon, does: () => location.assign(href(place)) })),
  ...THEMES.map((theme) => ({ name: `Theme: ${theme}`, icon: theme, does: () => chooseTheme(theme) })),
  { name: "Keyboard shortcuts", icon: "reports", does: showKeys },
  { name: "Open GraphiQL", icon: "reports", does: "graphql" },
  { name: "Copy as curl", icon: "reports", does: () => navigator.clipboard.writeText(curl(openQueries)) },
];

/** Actions for the hits and the selection, and actions whose names contain all words of the text. */
export function actions(text: string, first: Hit | undefined, route: Route, mayChange: boolean): Action[] {
  const words = text.toLowerCase().split(/\s+/);
  const here = selectedAddress(route) || (route.view === "at" ? route.subject : "");
  const action = first ? stateAction(first.address, first.target) : stateAction(here, { state: "up" });
  const settings = mayChange && action ? [action] : [];
  const named = [...(first ? [] : settings), ...ALWAYS].filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  return [...(first ? [...settings, ...hitActions(first, route)] : []), ...named];
}

function stateAction(place: string | null, target: Hit["target"] | { state: string }): Action | undefined {
  if (!place || place.startsWith("@") || !target || !("state" in target)) return undefined;
  const state = target.state === "up" ? "down" : "up";
  return {
    name: `Set state of ${shortenAddress(place)}…`,
    icon: "incidents",
    does: () => proposeState({ places: [place], state }),
  };
}

function hitActions({ kind, address }: Hit, route: Route): Action[] {
  const domain = kind === "chip" && address ? domainOf(address) : "";
  if (!address || !domain) return [];
  const short = relativeTo(domain, address);
  const before = domainOptions(domain, route);
  const to = before.from && before.from !== short;
  return [
    {
      name: `Path from ${short} to …`,
      icon: "path",
      does: href("domain", domain, { ...before, from: short, sel: short }),
    },
    ...(to
      ? [
          {
            name: `Path from ${before.from} to ${short}`,
            icon: "path" as const,
            does: href("domain", domain, { ...before, to: short }),
          },
        ]
      : []),
    {
      name: `What if ${short} is down?`,
      icon: "incidents",
      does: href("domain", domain, { ...before, down: [before.down, short].filter(Boolean).join(",") }),
    },
  ];
}
