// The state of a target that trninv discover reads, in the words of trninv status.

interface Target {
  lateAt: string | null;
  error: string | null;
}

export const isLate = ({ lateAt }: Pick<Target, "lateAt">) => lateAt !== null && Date.parse(lateAt) < Date.now();

/** Why a target is behind, in one word; empty if it is not. */
export const troubleOf = (target: Target) => (isLate(target) ? "late" : target.error ? "failing" : "");
