// Which moment the page shows: now, as long as nothing has changed unseen, or a time in the past.
import { useEffect, useState } from "preact/hooks";
import { listening } from "./changes/listen";
import type { Heard } from "./changes/source";

/** live; behind: something changed since; gone: the service does not answer; refused: the token is not good; past: as of another time. */
export type Standing = "live" | "behind" | "gone" | "refused" | "past";

export interface AsOf {
  time: string;
  revision: string | null;
}

interface Moment {
  /** The time that is asked of; empty: now. */
  asof: string;
  /** Rises whenever everything has to be asked anew. */
  epoch: number;
  /** How many things have changed since then. */
  changed: number;
  gone: boolean;
  refused: boolean;
  /** When the service answered last. */
  reached: string;
  revision: string | null;
}

const POLL = 4000;
const PATCH = 1000;
/** Pages that follow what changes; the others say so. */
const FOLLOWING = new Set(["home", "incidents", "at", "jobs"]);

let moment: Moment = { asof: "", epoch: 0, changed: 0, gone: false, refused: false, reached: "", revision: null };
let view = "home";
const unseen = new Set<string>();
/** The newest event that this page has made itself. */
let own = 0;
let timer = 0;
let isFollowing = false;
const followers = new Set<() => void>();

function become(next: Partial<Moment>): void {
  moment = { ...moment, ...next };
  for (const follow of followers) follow();
}

/** Draws a component anew whenever what it looks at is another. */
function useFollowed(read: () => unknown): void {
  const [, anew] = useState(read);
  useEffect(() => {
    const follow = () => anew(read);
    followers.add(follow);
    return () => {
      followers.delete(follow);
    };
  }, []);
}

export function useMoment(): Moment {
  useFollowed(() => moment);
  return moment;
}

/** The time that is asked of, and how often everything was asked anew. */
export function useTurn(): Pick<Moment, "asof" | "epoch"> {
  useFollowed(() => `${moment.asof} ${moment.epoch}`);
  return moment;
}

export const asof = () => moment.asof;

export function standing({ asof, changed, gone, refused }: Moment): Standing {
  if (gone) return "gone";
  if (refused) return "refused";
  if (asof) return "past";
  return changed ? "behind" : "live";
}

/** Ask everything anew. */
export function refresh(): void {
  seen();
  become({ epoch: moment.epoch + 1, changed: 0, revision: null });
}

/** This page has changed something itself, up to an event: it is asked anew, and not told of it. */
export function written(event: number): void {
  own = Math.max(own, event);
  refresh();
}

/** Another page is opened, or another time of it: what it shows is asked anew. */
export function turned(to: string, subject: string, time: string): void {
  const next = `${to}/${subject}`;
  if (next === view && time === moment.asof) return;
  view = next;
  seen();
  moment = { ...moment, asof: time, epoch: moment.epoch + 1, changed: 0, revision: null };
}

function seen(): void {
  clearTimeout(timer);
  timer = 0;
  unseen.clear();
}

function changes(address: string): void {
  if (moment.asof) return;
  unseen.add(address);
  become({ changed: unseen.size });
  if (FOLLOWING.has(view.split("/")[0] ?? "") && !timer) timer = window.setTimeout(refresh, PATCH);
}

/** The service has answered, of this state: of another one than before, all else is asked anew. */
export function answered(asOf: AsOf | undefined): void {
  const revision = asOf?.revision ?? null;
  const differs = !moment.asof && revision && moment.revision && revision !== moment.revision;
  become({
    gone: false,
    refused: false,
    reached: asOf?.time ?? new Date().toISOString(),
    revision: moment.revision ?? revision,
  });
  if (differs && !timer) timer = window.setTimeout(refresh, PATCH / 4);
}

/** The service answers again: what could not be asked meanwhile is asked now. */
function back(asOf: AsOf): void {
  become({ gone: false, reached: asOf.time });
  refresh();
}

export const unreachable = () => moment.gone || become({ gone: true });

/** What says that changes can't be told any more for want of a token says so wherever the page shows something. */
function refused({ code }: { code?: string }): undefined {
  if (code !== "UNAUTHENTICATED" || moment.refused) return;
  become({ refused: true });
  refresh();
}

/** Follow what changes: as it is told, or by asking again and again where that is not to be had. */
export function follow(isTold: boolean, ask: () => Promise<AsOf | undefined>): void {
  if (isFollowing) return;
  isFollowing = true;
  const probe = async () => {
    const asOf = await ask().catch(refused);
    if (asOf && moment.gone) back(asOf);
    else if (asOf && moment.revision && asOf.revision !== moment.revision) changes("");
    return asOf;
  };
  const hear = (heard: Heard) => {
    if (!("address" in heard)) probe();
    else if (heard.event > own) changes(heard.address);
  };
  const stream = isTold ? listening(hear) : undefined;
  stream?.hear(!document.hidden);
  setInterval(async () => {
    if (!stream?.open && !document.hidden && (await probe())) stream?.hear(true);
  }, POLL);
  document.addEventListener("visibilitychange", () => stream?.hear(!document.hidden));
  addEventListener("pagehide", () => stream?.hear(false));
  addEventListener("pageshow", ({ persisted }) => persisted && stream?.hear(true));
}
