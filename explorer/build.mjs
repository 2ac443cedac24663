// Builds the page: one HTML file with the bundle, the styles and the core, which is compressed with gzip.
//
// node build.mjs CORE.wasm PAGE.html
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const [corePath, pagePath] = process.argv.slice(2);
if (!corePath || !pagePath) {
  console.error("usage: node build.mjs CORE.wasm PAGE.html");
  process.exit(2);
}

/** Returns the bundled text of a script or style sheet. */
async function bundle(entry) {
  const built = await build({
    entryPoints: [new URL(entry, import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    legalComments: "none",
  });
  return built.outputFiles[0].text.trim();
}

const parts = {
  STYLE: await bundle("src/style.css"),
  // A closing tag in a string of the script would end it.
  SCRIPT: (await bundle("src/main.ts")).replaceAll("</script", "<\\/script"),
  WORKER: (await bundle("src/worker.ts")).replaceAll("</script", "<\\/script"),
  CORE: gzipSync(readFileSync(corePath), { level: 9 }).toString("base64"),
};
const template = readFileSync(new URL("src/page.html", import.meta.url), "utf8");
const page = template.replaceAll(/%(STYLE|SCRIPT|WORKER|CORE)%/g, (_, part) => parts[part]);
writeFileSync(pagePath, page);
const compressed = gzipSync(page, { level: 9 }).length;
console.log(`${pagePath}: ${(page.length / 1e6).toFixed(2)} MB, ${(compressed / 1e6).toFixed(2)} MB compressed`);
