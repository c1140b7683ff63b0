// What a reader wants to change for real, and whether they may.
import { useEffect, useState } from "preact/hooks";
import { ask, asking, gone, graphql, type Result } from "../api";
import { useTurn } from "../live";
import type { State } from "../state";

export interface Proposed {
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
    viewerRequest ??= ask({ ...asking(VIEWER, {}), at: "" }).then(({ viewer }) => {
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
export function mayChange(): boolean {
  const viewer = useViewer();
  return !useTurn().asof && Boolean(viewer?.scopes.includes("OPERATE"));
}

/** Open the dialog that sets a state, filled in; nothing is set until it is confirmed there. */
export function proposeChange(change: Proposed): void {
  import("./setstate").then((dialog) => dialog.open(change), gone);
}
