// The timeline of a place, or of all: its code is fetched when it is first shown.
import { later } from "../later";

export const Timeline = later(async () => (await import("./timeline")).Timeline);
