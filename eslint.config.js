import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { files: ["assets/player/src/**/*.js", "app/*.js"], languageOptions: { globals: globals.browser } },
  { ignores: ["assets/player/player.js", ".venv/"] },
];
