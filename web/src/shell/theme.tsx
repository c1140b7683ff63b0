// Light, dark, or as the system has it.
import { useState } from "preact/hooks";
import { Icon } from "./icons";

const KEPT = "trninv theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const kept = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? "system";

function worn(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

worn(kept());

export function ThemeSwitch() {
  const [theme, setTheme] = useState(kept);
  const turn = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme;
    localStorage.setItem(KEPT, next);
    worn(next);
    setTheme(next);
  };
  const says = `Theme: ${theme}`;
  return (
    <button type="button" class="square" onClick={turn} title={says} aria-label={says}>
      <Icon name={theme} />
    </button>
  );
}
