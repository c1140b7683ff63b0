// The state of a target that trninv discover reads, in the words of trninv status.

interface Target {
  late: boolean;
  error: string | null;
}

/** Why a target is behind, in one word; empty if it is not. */
export const troubleOf = ({ late, error }: Target) => (late ? "late" : error ? "failing" : "");
