// A fleet.
import { later } from "../later";

export const ClusterView = later(async () => (await import("../fleet/page")).FleetPage);
