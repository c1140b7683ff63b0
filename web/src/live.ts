// Which moment the page shows: now, as long as nothing has changed unseen, or a time in the past.
import { useEffect, useState } from "preact/hooks";
import { createListener } from "./changes/listen";
import type { ChangeMessage } from "./changes/source";

/** live; behind: something changed since; gone: the service does not answer; refused: the token is not good; past: as of another time. */
export type Liveness = "live" | "behind" | "gone" | "refused" | "past";

export interface AsOf {
  time: string;
  revision: string | null;
}

interface PageTime {
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

let moment: PageTime = { asof: "", epoch: 0, changed: 0, gone: false, refused: false, reached: "", revision: null };
let view = "home";
const unseen = new Set<string>();
/** The newest event that this page has made itself. */
let ownEvent = 0;
let timer = 0;
let isFollowing = false;
const followers = new Set<() => void>();

function update(next: Partial<PageTime>): void {
  moment = { ...moment, ...next };
  for (const notify of followers) notify();
}

/** Draws a component anew whenever what it looks at is another. */
function useSubscription(read: () => unknown): void {
  const [, anew] = useState(read);
  useEffect(() => {
    const notify = () => anew(read);
    followers.add(notify);
    return () => {
      followers.delete(notify);
    };
  }, []);
}

export function usePageTime(): PageTime {
  useSubscription(() => moment);
  return moment;
}

/** The time that is asked of, and how often everything was asked anew. */
export function useAsOf(): Pick<PageTime, "asof" | "epoch"> {
  useSubscription(() => `${moment.asof} ${moment.epoch}`);
  return moment;
}

export const asof = () => moment.asof;

export function livenessOf({ asof, changed, gone, refused }: PageTime): Liveness {
  if (gone) return "gone";
  if (refused) return "refused";
  if (asof) return "past";
  return changed ? "behind" : "live";
}

/** Ask everything anew. */
export function refresh(): void {
  clearUnseen();
  update({ epoch: moment.epoch + 1, changed: 0, revision: null });
}

/** This page has changed something itself, up to an event: it is asked anew, and not told of it. */
export function noteOwnChange(event: number): void {
  ownEvent = Math.max(ownEvent, event);
  refresh();
}

/** Another page is opened, or another time of it: what it shows is asked anew. */
export function noteNavigation(to: string, subject: string, time: string): void {
  const next = `${to}/${subject}`;
  if (next === view && time === moment.asof) return;
  view = next;
  clearUnseen();
  moment = { ...moment, asof: time, epoch: moment.epoch + 1, changed: 0, revision: null };
}

function clearUnseen(): void {
  clearTimeout(timer);
  timer = 0;
  unseen.clear();
}

function noteChange(address: string): void {
  if (moment.asof) return;
  unseen.add(address);
  update({ changed: unseen.size });
  if (FOLLOWING.has(view.split("/")[0] ?? "") && !timer) timer = window.setTimeout(refresh, PATCH);
}

/** The service has answered, of this state: of another one than before, all else is asked anew. */
export function noteAnswer(asOf: AsOf | undefined): void {
  const revision = asOf?.revision ?? null;
  const differs = !moment.asof && revision && moment.revision && revision !== moment.revision;
  update({
    gone: false,
    refused: false,
    reached: asOf?.time ?? new Date().toISOString(),
    revision: moment.revision ?? revision,
  });
  if (differs && !timer) timer = window.setTimeout(refresh, PATCH / 4);
}

/** The service answers again: what could not be asked meanwhile is asked now. */
function noteReturn(asOf: AsOf): void {
  update({ gone: false, reached: asOf.time });
  refresh();
}

export const noteUnreachable = () => moment.gone || update({ gone: true });

/** What says that changes can't be told any more for want of a token says so wherever the page shows something. */
function noteRefused({ code }: { code?: string }): undefined {
  if (code !== "UNAUTHENTICATED" || moment.refused) return;
  update({ refused: true });
  refresh();
}

/** Follow what changes: as it is told, or by asking again and again where that is not to be had. */
export function followChanges(isTold: boolean, ask: () => Promise<AsOf | undefined>): void {
  if (isFollowing) return;
  isFollowing = true;
  const probe = async () => {
    const asOf = await ask().catch(noteRefused);
    if (asOf && moment.gone) noteReturn(asOf);
    else if (asOf && moment.revision && asOf.revision !== moment.revision) noteChange("");
    return asOf;
  };
  const hear = (heard: ChangeMessage) => {
    if (!("address" in heard)) probe();
    else if (heard.event > ownEvent) noteChange(heard.address);
  };
  const stream = isTold ? createListener(hear) : undefined;
  stream?.hear(!document.hidden);
  setInterval(async () => {
    if (!stream?.open && !document.hidden && (await probe())) stream?.hear(true);
  }, POLL);
  document.addEventListener("visibilitychange", () => stream?.hear(!document.hidden));
  addEventListener("pagehide", () => stream?.hear(false));
  addEventListener("pageshow", ({ persisted }) => persisted && stream?.hear(true));
}
