// The list of docs pages that vite.config.ts derives from docs/.
declare module "virtual:docs" {
  const pages: [title: string, path: string, sections: [heading: string, anchor: string, commands: string][]][];
  export default pages;
}

// The views of SQL and the labels of Cypher, which vite.config.ts derives from docs/reference/.
declare module "virtual:tables" {
  const tables: Record<"sql" | "cypher", [name: string, row: string, columns: string[]][]>;
  export default tables;
}
