// The choice of light and dark.
import { useState } from "preact/hooks";
import { keepTheme, themeNow, themes, type Theme } from "../theme";

export function ThemeSwitch() {
  const [theme, change] = useState(themeNow());
  const choose = (value: string) => {
    keepTheme(value as Theme);
    change(value as Theme);
  };
  return (
    <label class="theme">theme
      <select value={theme} onChange={(event) => choose(event.currentTarget.value)}>{themes.map((one) => <option value={one}>{one}</option>)}</select>
    </label>
  );
}
