// A fleet.
import { lazyView } from "../later";

export const ClusterView = lazyView(async () => (await import("../fleet/page")).FleetPage);
