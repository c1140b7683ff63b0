// What a reader wants to change for real, and whether they may.
import { useEffect, useState } from "preact/hooks";
import { graphql, makeQuery, type Result, runQuery, unreachableError } from "../api";
import { useAsOf } from "../live";
import type { State } from "../state";

export interface StateProposal {
  /** Addresses of servers, chips, switches, NICs, network nodes and links. */
  places: string[];
  state: State;
  /** Of what is degraded: the part that it still carries. */
  factor?: number | undefined;
}

const VIEWER = graphql("query Viewer { viewer { name scope scopes } }");

export type Viewer = Result<typeof VIEWER>["viewer"];

let cachedViewer: Viewer | undefined;
let viewerRequest: Promise<Viewer> | undefined;

/** Who is asking, and what their token allows; undefined until that is known. */
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

/** A hook: whether what writes is shown. Never in the past, and only to whom mutations are allowed. */
export function useCanWrite(): boolean {
  const viewer = useViewer();
  return !useAsOf().asof && Boolean(viewer?.scopes.includes("OPERATE"));
}

/** Open the dialog that sets a state, filled in; nothing is set until it is confirmed there. */
export function proposeState(change: StateProposal): void {
  import("./setstate").then((dialog) => dialog.open(change), unreachableError);
}
