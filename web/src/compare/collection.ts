// The places to compare, from the address of the page or collected with C.
import { href, type Route, selectedAddress } from "../route";

export const MOST = 4;
const KEPT = "trninv compare";

/** The distinct places of an address, at most four. */
export const placesOf = (list: string | undefined) =>
  [
    ...new Set(
      (list ?? "")
        .toLowerCase()
        .split(",")
        .map((place) => place.trim())
        .filter(Boolean),
    ),
  ].slice(0, MOST);

/** What this tab has collected. */
export const storedPlaces = () => placesOf(sessionStorage.getItem(KEPT) ?? "");

export const storePlaces = (places: string[]) => sessionStorage.setItem(KEPT, places.join(","));

/** The domain, or else the cluster, of the selected part or the page. */
export function comparableOf(route: Route): string {
  const address = selectedAddress(route) || (route.view === "jobs" ? (route.options.in ?? "") : route.subject);
  const [cluster = "", domain = ""] = address.toLowerCase().split("/");
  const isPlace =
    ["cluster", "domain", "rack", "at", "jobs"].includes(route.view) && cluster && !cluster.startsWith("@");
  if (!isPlace) return "";
  return /^d\d+$/.test(domain) ? `${cluster}/${domain}` : cluster;
}

/** Collect one more place; return how many there are, with a link to them. */
export function addPlace(place: string): { full: boolean; count: number; to: string } {
  const before = storedPlaces();
  const full = before.length === MOST && !before.includes(place);
  const all = full ? before : placesOf([...before, place].join(","));
  storePlaces(all);
  return { full, count: all.length, to: href("compare", "", { of: all.join(",") }) };
}
