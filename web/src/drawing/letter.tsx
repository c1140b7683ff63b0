// The letters and color of a job, as the service's pictures have them (trninv/drawing/palette.py).
export interface Letter {
  text: string;
  /** The letter of its color's token. */
  tone: string;
}

const TONES = "abcdefghijkl";
/** Tokens of jobs' colors, in order of use. */
export const JOB_TOKENS = [...TONES].map((tone) => `job-${tone}`);

const letters = (index: number): string =>
  (index < 26 ? "" : letters(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26));

/** Return the letters of the job with an ordinal, from 0: A to Z, then AA, AB and so on; twelve colors alternate. */
export const letterOf = (ordinal: number): Letter => ({
  text: letters(ordinal),
  tone: TONES[ordinal % TONES.length] as string,
});

/** The colors of a job, for style sheets. */
export const jobColors = ({ tone }: Letter) => ({ "--job": `var(--job-${tone})`, "--on-job": `var(--on-job-${tone})` });

export const LetterBadge = ({ letter }: { letter: Letter }) => (
  <span class="letter" style={jobColors(letter)}>
    {letter.text}
  </span>
);
