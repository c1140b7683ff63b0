// Who makes a change: whom the token names, or else who they say they are.
import type { Viewer } from "./proposal";

const WHO = "trninv who";

/** Null where the token says it. */
export function readName(form: FormData, viewer: Viewer | undefined): string | null {
  if (viewer?.name) return null;
  const who = String(form.get("who"));
  localStorage.setItem(WHO, who);
  return who;
}

/** A field for their name where no token says it. */
export function NameField({ viewer, most }: { viewer: Viewer | undefined; most: number }) {
  if (!viewer || viewer.name) return null;
  return (
    <label>
      Your name, kept with the change
      <input
        name="who"
        required
        maxLength={most}
        pattern=".*\S.*"
        title="A name"
        autocomplete="username"
        defaultValue={localStorage.getItem(WHO) ?? ""}
      />
    </label>
  );
}
