// A proposed change of states, and whether the user may make it.
import { useEffect, useState } from "preact/hooks";
import { graphql, makeQuery, type Result, runQuery, unreachableError } from "../api";
import { useAsOf } from "../live";
import type { State } from "../state";

export interface StateProposal {
  /** Addresses of servers, chips, switches, NICs, network nodes and links. */
  places: string[];
  state: State;
  /** The fraction that a degraded part still carries. */
  factor?: number | undefined;
}

const VIEWER = graphql("query Viewer { viewer { name scope scopes } }");

export type Viewer = Result<typeof VIEWER>["viewer"];

let cachedViewer: Viewer | undefined;
let viewerRequest: Promise<Viewer> | undefined;

/** The user and what their token allows; undefined while loading. */
export function useViewer(): Viewer | undefined {
  const [viewer, setViewer] = useState(cachedViewer);
  useEffect(() => {
    if (cachedViewer) return setViewer(cachedViewer);
    viewerRequest ??= runQuery({ ...makeQuery(VIEWER, {}), at: "" }).then(({ viewer }) => {
      cachedViewer = viewer;
      return viewer;
    });
    viewerRequest.then(setViewer, () => {
      viewerRequest = undefined;
    });
  }, []);
  return viewer;
}

/** A hook: whether to show controls that write. False at an earlier time, and without the scope for mutations. */
export function useCanWrite(): boolean {
  const viewer = useViewer();
  return !useAsOf().asof && Boolean(viewer?.scopes.includes("OPERATE"));
}

/** Open the dialog with this proposal filled in; nothing is set until the user confirms. */
export function proposeState(change: StateProposal): void {
  import("./setstate").then((dialog) => dialog.open(change), unreachableError);
}
