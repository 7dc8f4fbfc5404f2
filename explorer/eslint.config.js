import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["src/data"] },
  js.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-nested-ternary": "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
    },
  },
];
