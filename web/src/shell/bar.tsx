// The bar at the top: breadcrumbs, who is signed in, the palette's field and the clock.
import { useEffect } from "preact/hooks";
import { href, type Route, selectedAddress } from "../route";
import { relativeTo } from "../words";
import { Clock } from "./clock";
import { Icon } from "./icons";
import { Share } from "./share";
import { ThemeSwitch } from "./theme";
import { SignedIn } from "./viewer";

const NAMES: Record<string, string> = {
  incidents: "Incidents",
  jobs: "Jobs",
  compare: "Compare",
  reports: "Reports",
  query: "Query",
  sources: "Sources",
  disagreements: "Disagreements",
  findings: "Findings",
};

/** The pages that lead to others. */
const HOLDERS: Record<string, string> = { disagreements: "sources", findings: "incidents" };

/** Breadcrumbs from the fleet to the page's subject, each with its link. */
export function steps(route: Route): [string, string][] {
  const { view, subject } = route;
  if (NAMES[view]) {
    const pages = [HOLDERS[view], view].filter((page) => page !== undefined);
    const trail = pages.map((page): [string, string] => [NAMES[page] ?? "", href(page)]);
    return subject ? [...trail, [subject, href(view, subject)]] : trail;
  }
  const fleet: [string, string] = ["Fleet", href("home")];
  if (!subject || subject.startsWith("@")) return subject ? [fleet, [subject, href(view, subject)]] : [fleet];
  const link = subject.includes("--") ? subject : "";
  const [cluster = "", place = "", ...inside] = (subject.split("--")[0] ?? "").split("/");
  const trail: [string, string][] = [fleet, [cluster, href("cluster", cluster)]];
  const holder = `${cluster}/${place}`;
  if (/^d\d+$/.test(place)) trail.push([place, href("domain", holder)]);
  else if (/^r\d+$/.test(place)) trail.push([place, href("rack", holder)]);
  const rest = link || (/^[dr]\d+$/.test(place) ? inside : [place, ...inside]).filter(Boolean).join("/");
  if (view === "at" && rest) trail.push([link ? relativeTo(holder, link) : rest, href("at", subject)]);
  const sel = selectedAddress(route);
  if (view !== "at" && sel) trail.push([relativeTo(subject, sel), href("at", sel)]);
  return trail;
}

/** The bar; isDesign: no source has ever reported. */
export function Bar({ route, isDesign }: { route: Route; isDesign: boolean }) {
  const trail = steps(route);
  return (
    <header class="bar">
      <a class="logo" href={href("home")} aria-label="trninv">
        <Icon name="fleet" />
      </a>
      <nav class={trail.length > 3 ? "trail long" : "trail"} aria-label="Breadcrumb">
        {trail.map(([name, to], index) => (
          <a key={to} href={to} aria-current={index === trail.length - 1 ? "location" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <SignedIn />
      <Find />
      <Clock route={route} isDesign={isDesign} />
      <Share />
      <ThemeSwitch />
    </header>
  );
}

/** Open the palette; text typed while it loads is kept. */
function open(): void {
  let typed = "";
  let isEntered = false;
  const keep = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") isEntered = true;
    else if (event.key === "Backspace") typed = typed.slice(0, -1);
    else if (event.key.length === 1) typed += event.key;
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("keydown", keep, true);
  import("../palette/palette")
    .then((palette) => palette.open(typed, isEntered))
    .finally(() => removeEventListener("keydown", keep, true));
}

function Find() {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <search>
      <button
        type="button"
        class="find"
        aria-label="Find a chip, host, job, report…"
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K /"
        onClick={open}
      >
        <Icon name="search" />
        <span>Find a chip, host, job, report…</span>
        <kbd>Ctrl K</kbd>
      </button>
    </search>
  );
}
