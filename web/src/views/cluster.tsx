// One cluster.
import { lazyView } from "../lazy";

export const ClusterView = lazyView(async () => (await import("../fleet/page")).FleetPage);
