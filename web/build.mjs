// Builds the browser pages into ../trninv/web, with the licences of what is bundled. npm ci && npm run build
import { build } from "esbuild";
import { copyFile, readFile, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import path from "node:path";

const OUT = "../trninv/web/graphiql";

const { metafile } = await build({
  entryPoints: { graphiql: "src/graphiql.jsx" },
  outdir: OUT,
  bundle: true,
  minify: true,
  format: "esm",
  splitting: false,
  target: "es2022",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  loader: { ".woff2": "dataurl", ".ttf": "dataurl", ".svg": "dataurl" },
  metafile: true,
});
await copyFile("src/index.html", `${OUT}/index.html`);

const packages = new Set(
  Object.keys(metafile.inputs)
    .map((file) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file))
    .filter(Boolean)
    .map((match) => match[0]),
);
const parts = [];
for (const folder of [...packages].sort()) {
  const { name, version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = existsSync(folder) && (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? (await readFile(path.join(folder, file), "utf8")).trim() : "(no licence file in the package)";
  parts.push(`${name} ${version} (${license})\n\n${text}\n`);
}
await writeFile(`${OUT}/LICENSES.txt`, `What graphiql.js and graphiql.css bundle.\n\n${parts.join("\n---\n\n")}`);
