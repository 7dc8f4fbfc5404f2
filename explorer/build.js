// Builds the page from src/: `node build.js` writes the page, `node build.js --check` fails if it is stale.
//
// The page is one file: its content security policy allows this script and this style sheet, by their hashes, and no
// connection. `regrax.show.explorer.page` fills in the games. The check needs node alone: the page holds a fingerprint
// of its sources. Where esbuild is installed the page is built again and compared as well.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const SOURCE = new URL("src/", import.meta.url);
const PAGE = new URL("../src/regrax/show/explorer/explorer.html", import.meta.url);

const hash = (text) => createHash("sha256").update(text).digest("base64");
const read = (name) => readFileSync(new URL(name, SOURCE), "utf8");

function fingerprint() {
  const names = readdirSync(SOURCE, { recursive: true }).filter((name) => /\.\w+$/.test(name));
  return hash(
    names
      .sort()
      .map((name) => `${name}\n${read(name)}`)
      .join("\n"),
  );
}

async function bundle({ build }, name) {
  const { outputFiles } = await build({
    entryPoints: [new URL(name, SOURCE).pathname],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    write: false,
  });
  return outputFiles[0].text;
}

async function built(esbuild) {
  const [script, style] = await Promise.all([
    bundle(esbuild, "page/main.js"),
    bundle(esbuild, "page/style.css"),
  ]);
  const policy =
    `default-src 'none'; script-src 'sha256-${hash(script)}'; style-src 'sha256-${hash(style)}'; ` +
    "img-src data: blob:; base-uri 'none'; form-action 'none'";
  const head =
    `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n` +
    `    <meta name="sources" content="${fingerprint()}" />\n    <style>${style}</style>`;
  return read("page/index.html")
    .replace('<link rel="stylesheet" href="style.css" />', () => head)
    .replace(
      '<script type="module" src="main.js"></script>',
      () => `<script type="module">${script}</script>`,
    );
}

const esbuild = await import("esbuild").catch(() => null);
if (process.argv.includes("--check")) {
  const page = readFileSync(PAGE, "utf8");
  const isFresh = page.includes(fingerprint()) && (!esbuild || page === (await built(esbuild)));
  if (!isFresh) throw new Error("explorer.html is stale: run `make explorer`");
} else {
  writeFileSync(PAGE, await built(esbuild));
}
