// Two pages into ../trninv/web: the explorer, and GraphiQL in chunks of its own; with the licences of what they bundle.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { defineConfig, type Plugin } from "vite";

function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        for (const file of chunk.type === "chunk" ? chunk.moduleIds : []) {
          const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replace(/^\0/, ""));
          if (found && existsSync(path.join(found[0], "package.json"))) folders.add(found[0]);
        }
      }
      const parts = [...folders].map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        const text = file ? readFileSync(path.join(folder, file), "utf8").trim() : "(no licence file in the package)";
        return `${name} ${version} (${license})\n\n${text}\n`;
      });
      const source = `What the pages bundle.\n\n${parts.sort().join("\n---\n\n")}`;
      this.emitFile({ type: "asset", fileName: "LICENSES.txt", source });
    },
  };
}

const DOCS = path.resolve(import.meta.dirname, "../docs");
/** Folders of docs/ that are not for users. */
const INTERNAL = /^(decisions|pictures)\//;

/** The module virtual:docs: title and path of each page of docs/, from its first heading. */
function docsPages(): Plugin {
  const name = "virtual:docs";
  return {
    name: "docs-pages",
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const files = readdirSync(DOCS, { encoding: "utf8", recursive: true }).filter((file) => file.endsWith(".md"));
      const pages = files.sort().flatMap((file) => {
        const title = /^# (.+)$/m.exec(readFileSync(path.join(DOCS, file), "utf8"))?.[1];
        return title && !INTERNAL.test(file) ? [[title, file.replace(/(^|\/)README\.md$|\.md$/, "")]] : [];
      });
      return `export default ${JSON.stringify(pages)}`;
    },
  };
}

export default defineConfig({
  base: "./",
  publicDir: false,
  build: {
    outDir: "../trninv/web",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: ["index.html", "graphiql.html"],
      onwarn: (warning, tell) => warning.code === "MODULE_LEVEL_DIRECTIVE" || tell(warning),
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  worker: { format: "es", rollupOptions: { output: { entryFileNames: "assets/changes.js" } } },
  plugins: [licences(), docsPages()],
  server: {
    proxy: Object.fromEntries(
      ["/graphql", "/changes", "/chips", "/pictures", "/reports", "/sql", "/cypher", "/docs"].map((at) => [
        at,
        "http://127.0.0.1:8000",
      ]),
    ),
  },
});
