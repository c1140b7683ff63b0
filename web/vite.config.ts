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
  plugins: [licences()],
  server: {
    proxy: Object.fromEntries(
      ["/graphql", "/changes", "/chips", "/pictures", "/reports"].map((at) => [at, "http://127.0.0.1:8000"]),
    ),
  },
});
