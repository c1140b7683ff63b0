// The letter of a job in the chips that it holds.
import type { Letter } from "./wiring";

/** Of the job at a place, 0 the first: A to Z, then A0, A1, …; four tones by turns. */
export const letterOf = (index: number): Letter => ({
  text: index < 26 ? String.fromCharCode(65 + index) : `${String.fromCharCode(64 + index / 26)}${index % 26}`,
  tone: index % 4,
});
