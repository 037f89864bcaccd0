import Moon from "lucide-react/icons/moon";
import Sun from "lucide-react/icons/sun";
import SunMoon from "lucide-react/icons/sun-moon";
import { setTheme, type Theme, useTheme } from "../browser/theme";
import { IconButton } from "./Button";

const nextTheme: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const themeIcons = { system: SunMoon, light: Sun, dark: Moon };
const themeNames: Readonly<Record<Theme, string>> = { system: "system", light: "light", dark: "dark" };

/** Renders a button that switches the theme: system, light, dark, and system again. */
export function ThemeSwitch() {
  const theme = useTheme();
  const Icon = themeIcons[theme];
  return (
    <IconButton label={`Theme: ${themeNames[theme]}`} onClick={() => setTheme(nextTheme[theme])}>
      <Icon />
    </IconButton>
  );
}
