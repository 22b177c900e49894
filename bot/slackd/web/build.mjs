// Builds the page into the folder that is named, always to the same bytes.
// With the word "sheet" it builds the page of pictures instead.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = path.resolve(process.argv[2] ?? path.join(here, "dist"));

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { page: process.argv[3] === "sheet" ? "src/sheet.tsx" : "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  define: { "process.env.NODE_ENV": '"production"' },
  // The renderer has Slack's own names of emoji; a second table of 200 kB is
  // asked only for names that Slack does not know.
  alias: { "node-emoji": "./src/no-emoji.ts" },
});
mkdirSync(out, { recursive: true });
copyFileSync(path.join(here, "index.html"), path.join(out, "index.html"));

// licenses.txt has the notices of what is bundled, each text once.
const notices = new Map();
for (const input of Object.keys(metafile.inputs).sort()) {
  const folder = input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
  if (!folder) {
    continue;
  }
  const { name, version, license } = JSON.parse(readFileSync(path.join(here, folder, "package.json"), "utf8"));
  const file = readdirSync(path.join(here, folder)).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? readFileSync(path.join(here, folder, file), "utf8").trim() : `License: ${license}`;
  notices.set(text, (notices.get(text) ?? new Set()).add(`${name} ${version}`));
}
writeFileSync(path.join(out, "licenses.txt"), [...notices].map(([text, who]) => `${[...who].join(", ")}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`));

// sources.sha256 says from what dist was built; web_test.go compares it.
const sources = ["index.html", "build.mjs", "package.json", "package-lock.json", "tsconfig.json"]
  .concat(readdirSync(path.join(here, "src")).map((f) => `src/${f}`))
  .sort();
const lines = sources.map((f) => `${createHash("sha256").update(readFileSync(path.join(here, f))).digest("hex")}  ${f}\n`);
writeFileSync(path.join(out, "sources.sha256"), lines.join(""));
