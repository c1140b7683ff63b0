// The letters and color of a job, as the service's pictures have them (trninv/drawing/palette.py).
export interface Letter {
  text: string;
  /** The letter of its color's token. */
  tone: string;
  /** The angle of the hatch over its color in degrees, if it has one. */
  hatch: number | undefined;
}

const TONES = "abcdefghijkl";
/** Tokens of jobs' colors, in order of use. */
export const JOB_TOKENS = [...TONES].map((tone) => `job-${tone}`);

const letters = (index: number): string =>
  (index < 26 ? "" : letters(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));

/** The index of the color of the job with an ordinal. */
export const toneOf = (ordinal: number): number => ordinal % TONES.length;

/** Angles of hatches in order of use: the first twelve jobs have none, each serves the next twelve, then all again. */
const HATCHES = [undefined, 45, 0, 90, 135];

/** Return the letters of the job with an ordinal, from 0: A to Z, then AA, AB and so on. */
export const letterOf = (ordinal: number): Letter => ({
  text: letters(ordinal),
  tone: TONES[toneOf(ordinal)] as string,
  hatch: HATCHES[Math.floor(ordinal / TONES.length) % HATCHES.length],
});

/** The colors of a job, for style sheets. */
export const jobColors = ({ tone, hatch }: Letter) => ({
  "--job": `var(--job-${tone})`,
  "--on-job": `var(--on-job-${tone})`,
  ...(hatch !== undefined && {
    // lines like those of the service's pictures, in which 0 degrees are upright ones
    "--hatch": `repeating-linear-gradient(${90 + hatch}deg, color-mix(in srgb, var(--on-job) 45%, transparent) 0 1px, transparent 1px 5px)`,
  }),
});

export const LetterBadge = ({ letter }: { letter: Letter }) => (
  <span class="letter" style={jobColors(letter)}>
    {letter.text}
  </span>
);
