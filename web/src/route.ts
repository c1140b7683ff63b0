// Every view has an address: #/domain/u-trn2x64/d0?from=s0/c0&down=s1/c2
import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  /** An address of the inventory, or a name. */
  of: string;
  options: Record<string, string>;
}

function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...of] = path.split("/");
  return {
    view: view || "home",
    of: decoded(of.join("/")),
    options: Object.assign(Object.create(null), Object.fromEntries(new URLSearchParams(query))),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that stands for itself
  }
}

/** An option that is one of several, or the usual one. */
export function oneOf<T extends string>(of: Record<T, unknown>, given: string | undefined, usual: T): T {
  return given !== undefined && Object.hasOwn(of, given) ? (given as T) : usual;
}

/** An option that is a number within bounds, or the usual one. */
export function numberIn(given: string | undefined, [least, most]: [number, number], usual: number): number {
  const value = Number(given || Number.NaN);
  return Number.isFinite(value) ? Math.max(least, Math.min(most, value)) : usual;
}

/** The link to a view; options that are undefined are left out. */
export function href(view: string, of = "", options: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const readable = query.replaceAll("%2F", "/").replaceAll("%2C", ",");
  return `#/${view === "home" ? "" : view}${of && `/${encodeURI(of)}`}${readable && `?${readable}`}`;
}

/** Change options of the view that is open; a step back undoes it unless it is a detail. */
export function change(options: Record<string, string | number | undefined>, detail = false): void {
  const now = parsed(location.hash);
  const to = href(now.view, now.of, { ...now.options, ...options });
  history[detail ? "replaceState" : "pushState"](null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parsed(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parsed(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
