// The timeline, whose code is fetched when it is first shown.
import { lazyView } from "../lazy";

export const Timeline = lazyView(async () => (await import("./timeline")).Timeline);
