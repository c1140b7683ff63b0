// The time that the page shows: now, until something changes that is not shown yet, or an earlier time.
import { useEffect, useState } from "preact/hooks";
import { createListener } from "./changes/listen";
import type { ChangeMessage } from "./changes/source";

/** live; behind: something has changed since; gone: the service does not answer; refused: the token is not valid; past: an earlier time. */
export type Liveness = "live" | "behind" | "gone" | "refused" | "past";

export interface AsOf {
  time: string;
  revision: string | null;
}

interface PageTime {
  /** The requested time; empty: now. */
  asof: string;
  /** Increases whenever all data must be loaded again. */
  epoch: number;
  /** Number of changes since the data was loaded. */
  changed: number;
  gone: boolean;
  refused: boolean;
  /** When the service last answered. */
  reached: string;
  revision: string | null;
}

const POLL = 4000;
const PATCH = 1000;
/** Pages that update by themselves; the others show a notice. */
const FOLLOWING = new Set(["home", "incidents", "at", "jobs"]);

let pageTime: PageTime = { asof: "", epoch: 0, changed: 0, gone: false, refused: false, reached: "", revision: null };
let view = "home";
const unseen = new Set<string>();
/** The newest event that this page caused. */
let ownEvent = 0;
let timer = 0;
let isFollowing = false;
const followers = new Set<() => void>();

function update(next: Partial<PageTime>): void {
  pageTime = { ...pageTime, ...next };
  for (const notify of followers) notify();
}

/** Render a component again whenever the value that it reads changes. */
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
  useSubscription(() => pageTime);
  return pageTime;
}

/** The requested time, and how often all data was loaded again. */
export function useAsOf(): Pick<PageTime, "asof" | "epoch"> {
  useSubscription(() => `${pageTime.asof} ${pageTime.epoch}`);
  return pageTime;
}

export const asof = () => pageTime.asof;

/** When the service last answered, and the revision of what the page shows. */
export const answeredAt = (): AsOf => ({ time: pageTime.reached, revision: pageTime.revision });

export function livenessOf({ asof, changed, gone, refused }: PageTime): Liveness {
  if (gone) return "gone";
  if (refused) return "refused";
  if (asof) return "past";
  return changed ? "behind" : "live";
}

/** Load all data again. */
export function refresh(): void {
  clearUnseen();
  update({ epoch: pageTime.epoch + 1, changed: 0, revision: null });
}

/** Load everything again after a change of this page's own, without a notice; later notices begin after its event. */
export function noteOwnChange(event: number): void {
  ownEvent = Math.max(ownEvent, event);
  refresh();
}

/** Load everything for another page or another time. */
export function noteNavigation(to: string, subject: string, time: string): void {
  const next = `${to}/${subject}`;
  if (next === view && time === pageTime.asof) return;
  view = next;
  clearUnseen();
  pageTime = { ...pageTime, asof: time, epoch: pageTime.epoch + 1, changed: 0, revision: null };
}

function clearUnseen(): void {
  clearTimeout(timer);
  timer = 0;
  unseen.clear();
}

function noteChange(address: string): void {
  if (pageTime.asof) return;
  unseen.add(address);
  update({ changed: unseen.size });
  if (FOLLOWING.has(view.split("/")[0] ?? "") && !timer) timer = window.setTimeout(refresh, PATCH);
}

/** Note an answer's revision; if it differs from the earlier one, load everything else again. */
export function noteAnswer(asOf: AsOf | undefined): void {
  const revision = asOf?.revision ?? null;
  const differs = !pageTime.asof && revision && pageTime.revision && revision !== pageTime.revision;
  update({
    gone: false,
    refused: false,
    reached: asOf?.time ?? new Date().toISOString(),
    revision: pageTime.revision ?? revision,
  });
  if (differs && !timer) timer = window.setTimeout(refresh, PATCH / 4);
}

/** The service answers again: load what failed meanwhile. */
function noteReturn(asOf: AsOf): void {
  update({ gone: false, reached: asOf.time });
  refresh();
}

export const noteUnreachable = () => pageTime.gone || update({ gone: true });

/** Note an error: a missing or invalid token also stops the stream of changes. */
function noteRefused({ code }: { code?: string }): undefined {
  if (code !== "UNAUTHENTICATED" || pageTime.refused) return;
  update({ refused: true });
  refresh();
}

/** Follow changes through the stream, or by polling where there is none. */
export function followChanges(isTold: boolean, ask: () => Promise<AsOf | undefined>): void {
  if (isFollowing) return;
  isFollowing = true;
  const probe = async () => {
    const asOf = await ask().catch(noteRefused);
    if (asOf && pageTime.gone) noteReturn(asOf);
    else if (asOf && pageTime.revision && asOf.revision !== pageTime.revision) noteChange("");
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
