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

/** Pages that are looked up by the names of commands and fields, which are their headings. */
const REFERENCE = /^reference\//;
/** The anchor of a heading, as the site has it. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replace(/[\s-]+/g, "-");

/** The commands that a text names: drain-impact events. */
const commandsOf = (text: string) =>
  [...new Set([...text.matchAll(/`trninv\s+([a-z-]+)/g)].map(([, command]) => command))].join(" ");

/** The module virtual:docs: title and path of each page of docs/, from its first heading, and its sections. */
function docsPages(): Plugin {
  const name = "virtual:docs";
  return {
    name: "docs-pages",
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const files = readdirSync(DOCS, { encoding: "utf8", recursive: true }).filter((file) => file.endsWith(".md"));
      const pages = files.sort().flatMap((file) => {
        const text = readFileSync(path.join(DOCS, file), "utf8").replace(/^```.*?^```$/gms, "");
        const title = /^# (.+)$/m.exec(text)?.[1];
        if (!title || INTERNAL.test(file)) return [];
        const parts = REFERENCE.test(file) ? [] : [...text.matchAll(/^## (.+)$((?:\n(?!## ).*)*)/gm)];
        const sections = parts.map(([, heading = "", body = ""]) => [
          heading.replace(/`/g, ""),
          anchorOf(heading),
          commandsOf(body),
        ]);
        return [[title, file.replace(/(^|\/)README\.md$|\.md$/, ""), sections]];
      });
      return `export default ${JSON.stringify(pages)}`;
    },
  };
}

/** The module virtual:tables: views of SQL and labels of Cypher with their columns, from their reference pages. */
function queryTables(): Plugin {
  const name = "virtual:tables";
  const tablesOf = (page: string, heading: RegExp) =>
    readFileSync(path.join(DOCS, "reference", page), "utf8")
      .split(/^(?=###? )/m)
      .flatMap((part) => {
        const section = part.replace(/^### /, "");
        const [, table] = heading.exec(section) ?? [];
        if (!table) return [];
        const names = [/ as above: (.*)/.exec(section)?.[1], ...(section.match(/^\| `.*?(?= \| )/gm) ?? [])];
        const columns = names.flatMap((text) => [...(text ?? "").matchAll(/`(\w+)`/g)].map(([, column]) => column));
        return [[table, /^\n*(.*?)[.:](?= |$)/m.exec(section.slice(table.length))?.[1] ?? "", [...new Set(columns)]]];
      });
  return {
    name: "query-tables",
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const tables = { sql: tablesOf("sql.md", /^(v_\w+)\n/), cypher: tablesOf("cypher.md", /^([A-Z]\w+)\n/) };
      return `export default ${JSON.stringify(tables)}`;
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
  plugins: [licences(), docsPages(), queryTables()],
  server: {
    proxy: Object.fromEntries(
      ["/graphql", "/changes", "/chips", "/pictures", "/reports", "/sql", "/cypher", "/docs"].map((at) => [
        at,
        "http://127.0.0.1:8000",
      ]),
    ),
  },
});
