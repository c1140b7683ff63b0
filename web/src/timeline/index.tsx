// The timeline of a place, or of all: its code is fetched when it is first shown.
import { lazyView } from "../lazy";

export const Timeline = lazyView(async () => (await import("./timeline")).Timeline);
