// The letter of a job in the chips that it holds.
import type { Letter } from "./wiring";

/** Of the job at a place, 0 the first: A to Z, then A0, A1, …; four tones by turns. */
export const letterOf = (at: number): Letter => ({
  text: at < 26 ? String.fromCharCode(65 + at) : `${String.fromCharCode(64 + at / 26)}${at % 26}`,
  tone: at % 4,
});
