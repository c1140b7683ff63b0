// The theme: light, dark, or the system's.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons";

const KEPT = "trninv theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const storedTheme = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? "system";

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

apply(storedTheme());

const CHANGED = "themechange";

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEPT, theme);
  apply(theme);
  dispatchEvent(new Event(CHANGED));
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    const follow = () => setTheme(storedTheme());
    addEventListener(CHANGED, follow);
    return () => removeEventListener(CHANGED, follow);
  }, []);
  const turn = () => chooseTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme);
  const label = `Theme: ${theme}`;
  return (
    <button type="button" class="square" onClick={turn} title={label} aria-label={label}>
      <Icon name={theme} />
    </button>
  );
}
