// Light, dark, or as the system has it.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons";

const KEPT = "trninv theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const kept = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? "system";

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

apply(kept());

const CHANGED = "themechange";

export function wear(theme: Theme): void {
  localStorage.setItem(KEPT, theme);
  apply(theme);
  dispatchEvent(new Event(CHANGED));
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(kept);
  useEffect(() => {
    const follow = () => setTheme(kept());
    addEventListener(CHANGED, follow);
    return () => removeEventListener(CHANGED, follow);
  }, []);
  const turn = () => wear(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme);
  const label = `Theme: ${theme}`;
  return (
    <button type="button" class="square" onClick={turn} title={label} aria-label={label}>
      <Icon name={theme} />
    </button>
  );
}
