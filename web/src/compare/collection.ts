// What is to be compared: of an address, or gathered from page to page by C.
import { href, type Route, selectedAddress } from "../route";

export const MOST = 4;
const KEPT = "trninv compare";

/** Places of an address, each once, at most four. */
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

/** What this tab has gathered. */
export const storedPlaces = () => placesOf(sessionStorage.getItem(KEPT) ?? "");

export const storePlaces = (places: string[]) => sessionStorage.setItem(KEPT, places.join(","));

/** The domain, or else the cluster, of what is chosen or shown. */
export function comparableOf(route: Route): string {
  const address = selectedAddress(route) || (route.view === "jobs" ? (route.options.in ?? "") : route.subject);
  const [cluster = "", domain = ""] = address.toLowerCase().split("/");
  const isPlace =
    ["cluster", "domain", "rack", "at", "jobs"].includes(route.view) && cluster && !cluster.startsWith("@");
  if (!isPlace) return "";
  return /^d\d+$/.test(domain) ? `${cluster}/${domain}` : cluster;
}

/** Gather one more; how many there are then, and the way to them. */
export function addPlace(place: string): { full: boolean; count: number; to: string } {
  const before = storedPlaces();
  const full = before.length === MOST && !before.includes(place);
  const all = full ? before : placesOf([...before, place].join(","));
  storePlaces(all);
  return { full, count: all.length, to: href("compare", "", { of: all.join(",") }) };
}
