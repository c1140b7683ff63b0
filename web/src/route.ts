// The address of a view, such as #/domain/u-trn2x64/d0?from=s0/c0&down=s1/c2
import { useEffect, useState } from "preact/hooks";
import { answeredAt, asof, noteNavigation } from "./live";

export interface Route {
  view: string;
  /** An address of the inventory, or a name. */
  subject: string;
  options: Record<string, string>;
}

function parseHash(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  return {
    view: view || "home",
    subject: decode(rest.join("/")),
    options: Object.assign(Object.create(null), Object.fromEntries(new URLSearchParams(query))),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that stands for itself
  }
}

/** Read an option with a fixed set of values, or return the default. */
export function oneOf<T extends string>(allowed: Record<T, unknown>, text: string | undefined, usual: T): T {
  return text !== undefined && Object.hasOwn(allowed, text) ? (text as T) : usual;
}

/** Read an option that is a number within bounds, or return the default. */
export function numberIn(text: string | undefined, [least, most]: [number, number], usual: number): number {
  const value = Number(text || Number.NaN);
  return Number.isFinite(value) ? Math.max(least, Math.min(most, value)) : usual;
}

/** Link to a view at the time that the page shows; undefined options are omitted. */
export function href(view: string, subject = "", options: Record<string, string | number | undefined> = {}): string {
  const entries = Object.entries({ asof: asof() || undefined, ...options }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  const readable = query.replaceAll("%2F", "/").replaceAll("%2C", ",");
  return `#/${view === "home" ? "" : view}${subject && `/${encodeURI(subject)}`}${readable && `?${readable}`}`;
}

/** Change options of the open view; the browser's Back button undoes it unless it is a detail. */
export function change(options: Record<string, string | number | undefined>, detail = false): void {
  const now = parseHash(location.hash);
  const to = href(now.view, now.subject, { ...now.options, ...options });
  history[detail ? "replaceState" : "pushState"](null, "", to);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** The whole address of the page at the time that it shows, with the revision of its data. */
export function shareAddress(): string {
  const { view, subject, options } = parseHash(location.hash);
  const { time, revision } = answeredAt();
  const shared = { ...options, asof: asof() || time || undefined, revision: revision ?? options.revision };
  return new URL(href(view, subject, shared), location.href).href;
}

function openRoute(): Route {
  const route = parseHash(location.hash);
  noteNavigation(route.view, route.subject, route.options.asof ?? "");
  return route;
}

/** The selected part of a page about a place, as a whole address: s1/c5 in u-trn2x64/d0. */
export function selectedAddress({ subject, options }: Route): string {
  if (!subject) return ""; // what Incidents and Jobs select has no address
  const sel = (options.sel ?? "").toLowerCase();
  const cluster = subject.split("/")[0] ?? "";
  const whole = (end: string) => (end.startsWith("@") || end.startsWith(`${cluster}/`) ? end : `${subject}/${end}`);
  return sel ? sel.split("--").map(whole).join("--") : "";
}

/** Close a dialog when the page behind it is left: by Back, or by a link. */
export function useLeaving(box: { current: HTMLDialogElement | null }, stays = false): void {
  useEffect(() => {
    if (stays) return;
    const leave = () => box.current?.close();
    addEventListener("popstate", leave);
    return () => removeEventListener("popstate", leave);
  }, [stays]);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(openRoute);
  useEffect(() => {
    const follow = () => setRoute(openRoute());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}
