// Actions of the palette: open a hit, go to a view, switch the theme, copy what the page shows.
import { curl, openQueries, printQueries } from "../api";
import { proposeState } from "../change/proposal";
import { asof } from "../live";
import { domainOf } from "../panel/panel";
import { change, href, type Route, selectedAddress } from "../route";
import type { IconName } from "../shell/icons";
import { showKeys } from "../shell/keys";
import { copyShareLink } from "../shell/share";
import { chooseTheme, THEMES } from "../shell/theme";
import { relativeTo, shortenAddress } from "../words";
import type { Hit } from "./documents";
import { bestScore, score } from "./match";

/** What a match of other words counts, of one of the name. */
const OTHER_WORDS = 0.95;

/** What the palette asks next: the part to set, or the place to drain. */
export type Errand = "state" | "drain";

export interface Action {
  name: string;
  icon: IconName;
  /** A link, a function to run, or what to ask for next. */
  does: string | (() => void) | { asks: Errand };
  /** Other words for it. */
  words?: string;
  description?: string;
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

const PLACES: [string, IconName, string, string?][] = [
  ["home", "fleet", "Fleet", "home overview"],
  ["incidents", "incidents", "Incidents"],
  ["jobs", "jobs", "Jobs"],
  ["compare", "compare", "Compare"],
  ["reports", "reports", "Reports"],
  ["query", "query", "Query", "sql cypher select graph"],
  ["sources", "sources", "Sources", "documented numbers facts"],
  ["disagreements", "sources", "Disagreements", "disputed conflicts"],
];

const csvButton = () =>
  [...document.querySelectorAll<HTMLButtonElement>("main button")].find(
    ({ textContent }) => textContent === "Download CSV",
  );

const download = (): Action =>
  csvButton()
    ? { name: "Download CSV of this page", icon: "download", does: () => csvButton()?.click(), words: "save export" }
    : {
        name: "Download CSV",
        icon: "download",
        does: href("reports"),
        words: "save export",
        description: "choose a report",
      };

const copy = (text: () => string) => () => void navigator.clipboard.writeText(text()).catch(() => {});

/** Actions that do not depend on the selection. */
const general = (): Action[] => [
  {
    name: "What is down?",
    icon: "incidents",
    does: href("incidents"),
    words: "broken failed unhealthy degraded wrong",
    description: "open incidents",
  },
  ...PLACES.map(
    ([place, icon, name, words = ""]): Action => ({ name: `Go to ${name}`, icon, does: href(place), words }),
  ),
  {
    name: "Place a job",
    icon: "jobs",
    does: href("jobs", "", { fit: "chips:16" }),
    words: "fit allocate free capacity",
  },
  download(),
  ...(asof()
    ? [{ name: "Back to now", icon: "time" as const, does: () => change({ asof: undefined }), words: "now" }]
    : []),
  ...THEMES.map((theme): Action => ({ name: `Theme: ${theme}`, icon: theme, does: () => chooseTheme(theme) })),
  { name: "Documentation", icon: "sources", does: "docs/", words: "docs help manual" },
  { name: "Keyboard shortcuts", icon: "reports", does: showKeys, words: "help keys" },
  {
    name: "Share this page",
    icon: "share",
    does: () => void copyShareLink().catch(() => {}),
    words: "copy link address",
    description: "copy its address with the time",
  },
  { name: "Copy as GraphQL", icon: "reports", does: copy(() => printQueries([...openQueries])) },
  { name: "Copy as curl", icon: "reports", does: copy(() => curl(openQueries)) },
  { name: "Open GraphiQL", icon: "reports", does: "graphql" },
];

/** Actions whose names contain a text, the best first, with how well they match; without a text, all. */
export function namedActions(text: string, route: Route, mayChange: boolean): [Action, number][] {
  const here = selectedAddress(route) || (route.view === "at" ? route.subject : "");
  const place = currentAddress(route);
  const setState = stateAction(here, { state: "up" }) ?? {
    name: "Set state…",
    icon: "incidents",
    does: { asks: "state" },
    words: "down up degraded maintenance repair",
  };
  const drained = place.includes("/") && !place.includes("--") ? place : "";
  const drain: Action = {
    name: drained ? `Plan a drain of ${drained}` : "Plan a drain…",
    icon: "jobs",
    does: drained ? drainOf(drained) : { asks: "drain" },
    words: "cordon evict empty",
  };
  const all = [...(mayChange ? [setState] : []), drain, ...general()];
  if (!text) return all.map((action) => [action, 0]);
  return all
    .map(({ name, words = "", ...action }): [Action, number] => [
      { name, ...action },
      Math.max(score(text, name), OTHER_WORDS * bestScore(text, [words, `${name} ${words}`])),
    ])
    .filter(([, rank]) => rank > 0)
    .sort(([, a], [, b]) => b - a);
}

const drainOf = (address: string) =>
  href("jobs", "", { in: address.split("/")[0], drain: address.split("/").slice(0, 3).join("/") });

/** What an errand does with a hit; undefined if it cannot do anything with it. */
export function runErrand(errand: Errand, { address, target }: Hit): Action["does"] | undefined {
  if (errand === "drain") return address && !address.includes("--") ? drainOf(address) : undefined;
  return stateAction(address, target)?.does;
}

function stateAction(place: string | null, target: Hit["target"] | { state: string }): Action | undefined {
  if (!place || place.startsWith("@") || !target || !("state" in target)) return undefined;
  const state = target.state === "up" ? "down" : "up";
  return {
    name: `Set state of ${shortenAddress(place)}…`,
    icon: "incidents",
    does: () => proposeState({ places: [place], state }),
    words: "down up degraded maintenance repair",
  };
}

/** Actions for the first hit: set its state, or use it as an end of a path. */
export function hitActions(hit: Hit, route: Route, mayChange: boolean): Action[] {
  const { kind, address, target } = hit;
  const action = mayChange ? stateAction(address, target) : undefined;
  const settings = action ? [action] : [];
  const domain = kind === "chip" && address ? domainOf(address) : "";
  if (!address || !domain) return settings;
  const short = relativeTo(domain, address);
  const before = domainOptions(domain, route);
  const to = before.from && before.from !== short;
  return [
    ...settings,
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
