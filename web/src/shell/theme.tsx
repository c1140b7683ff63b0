// Light, dark, or as the system has it.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons";

const KEPT = "trninv theme";
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const kept = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? "system";

function worn(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

worn(kept());

const CHANGED = "themechange";

export function wear(theme: Theme): void {
  localStorage.setItem(KEPT, theme);
  worn(theme);
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
  const says = `Theme: ${theme}`;
  return (
    <button type="button" class="square" onClick={turn} title={says} aria-label={says}>
      <Icon name={theme} />
    </button>
  );
}
