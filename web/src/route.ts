// Every view has an address: #/domain/u-trn2x64/d0?from=s0/c0&down=s1/c2
import { useEffect, useState } from "preact/hooks";
import { asof, turned } from "./live";

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

/** The link to a view, at the same moment; options that are undefined are left out. */
export function href(view: string, of = "", options: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries({ asof: asof() || undefined, ...options }).filter(([, value]) => value !== undefined);
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

function opened(): Route {
  const route = parsed(location.hash);
  turned(route.view, route.of, route.options.asof ?? "");
  return route;
}

/** An address within a place, which may leave the place out: s1/c5 of u-trn2x64/d0. */
export function chosen({ of, options }: Route): string {
  const sel = (options.sel ?? "").toLowerCase();
  const cluster = of.split("/")[0] ?? "";
  const whole = (end: string) => (end.startsWith("@") || end.startsWith(`${cluster}/`) ? end : `${of}/${end}`);
  return sel ? sel.split("--").map(whole).join("--") : "";
}

export function useRoute(): Route {
  const [route, setRoute] = useState(opened);
  useEffect(() => {
    const follow = () => setRoute(opened());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
