// Counts the tokens of the page's JavaScript, comments and data aside: npm run --silent tokens

import { readdirSync, readFileSync } from "node:fs";
import { tokenizer } from "acorn";

const source = new URL("src/", import.meta.url);
let total = 0;
for (const name of readdirSync(source, { recursive: true })) {
  if (!name.endsWith(".js") || name.startsWith("data")) continue;
  const options = { ecmaVersion: "latest", sourceType: "module" };
  total += [...tokenizer(readFileSync(new URL(name, source), "utf8"), options)].length;
}
console.log(total);
